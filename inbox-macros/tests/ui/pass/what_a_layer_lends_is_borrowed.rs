use inbox::{Lend, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Ledger(u64);

impl Lend for Ledger {}

#[handler(key = "pay")]
async fn pay(command: Pay, ledger: &mut Ledger) -> Result<(), String> {
    ledger.0 += command.id;
    Ok(())
}

#[handler(key = "pay-named")]
async fn pay_named<'a>(_command: Pay, _ledger: &'a mut Ledger) {}

fn main() {}
