use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name: "pay", version: 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

fn main() {}
