use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Payments;

impl Payments {
    #[handler(key = "pay")]
    async fn pay(&self, _command: Pay) {}
}

fn main() {}
