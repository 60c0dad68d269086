use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(retry(immediate = 1) key = "pay")]
async fn pay(_command: Pay) {}

fn main() {}
