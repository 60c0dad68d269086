use inbox::{State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Gateway;

#[handler(key = "pay")]
async fn pay(_command: Pay, _gateway: State<Gateway>) {}

fn main() {}
