use inbox::{State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay")]
async fn pay(_command: Pay, _state: State<impl Clone>) -> Result<(), impl std::error::Error> {
    Ok::<(), std::fmt::Error>(())
}

fn main() {}
