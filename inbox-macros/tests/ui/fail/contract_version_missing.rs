use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay")]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

fn main() {}
