use inbox::{Outcome, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay")]
async fn pay(_command: Pay) -> Vec<Outcome> {
    vec![Outcome::Completed]
}

fn main() {}
