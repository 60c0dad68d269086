use inbox::handlers;

#[handlers]
fn pay() {}

fn main() {}
