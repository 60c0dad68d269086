use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay" retry(initial = "1s"))]
async fn pay(_command: Pay) {}

fn main() {}
