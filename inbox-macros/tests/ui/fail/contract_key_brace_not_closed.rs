use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, idempotency_key = "pay:{id")]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

fn main() {}
