use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "block", version = 1)]
#[derive(Serialize, Deserialize)]
struct Block<const N: usize>;

fn main() {}
