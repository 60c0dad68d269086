use inbox::{Batch, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay", batch = 10)]
async fn pay(commands: Batch<Pay>) -> Vec<u64> {
    commands.into_iter().map(|command| command.id).collect()
}

fn main() {}
