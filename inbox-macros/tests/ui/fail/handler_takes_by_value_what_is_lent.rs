use inbox::{Lend, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Transaction;

impl Lend for Transaction {}

#[handler(key = "pay")]
async fn pay(_command: Pay, _tx: Transaction) {}

fn main() {}
