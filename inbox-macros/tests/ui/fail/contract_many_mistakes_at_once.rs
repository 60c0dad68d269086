use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "process payment", version = 0, idempotency_key = "{payment}", colour = 3)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

fn main() {}
