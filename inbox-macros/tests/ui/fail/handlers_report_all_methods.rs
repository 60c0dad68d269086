use inbox::{handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Payments;

#[handlers]
impl Payments {
    #[handler(key = "")]
    async fn pay(&self, _command: Pay) {}

    #[handler]
    async fn refund(&self, _command: Pay) {}
}

fn main() {}
