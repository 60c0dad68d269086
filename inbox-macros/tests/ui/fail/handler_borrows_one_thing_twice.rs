use inbox::{Lend, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Ledger;

impl Lend for Ledger {}

#[handler(key = "pay")]
async fn pay(_command: Pay, _one: &mut Ledger, _other: &mut Ledger) {}

fn main() {}
