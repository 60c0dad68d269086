use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 4294967296)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

fn main() {}
