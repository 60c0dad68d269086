use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 2, upgrades = "Old")]
#[derive(Serialize, Deserialize)]
struct Pay;

fn main() {}
