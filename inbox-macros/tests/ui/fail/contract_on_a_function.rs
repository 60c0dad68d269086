use inbox::inbox_contract;

#[inbox_contract(name = "pay", version = 1)]
fn pay() {}

fn main() {}
