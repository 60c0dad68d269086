use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, concurrency_key = id)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay", concurrency(per_key = 1))]
async fn pay(_command: Pay) {}

fn main() {}
