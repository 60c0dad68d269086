use inbox::contract;

contract!(name = "archive", version = 1);

fn main() {}
