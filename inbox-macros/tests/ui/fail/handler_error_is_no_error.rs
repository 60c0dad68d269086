use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Declined;

#[handler(key = "pay")]
async fn pay(_command: Pay) -> Result<(), Declined> {
    Err(Declined)
}

fn main() {}
