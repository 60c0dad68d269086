use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, idempotency_key = "pay:{order.number}")]
#[derive(Serialize, Deserialize)]
struct Pay { order: Order }

#[derive(Serialize, Deserialize)]
struct Order { id: u64 }

fn main() {}
