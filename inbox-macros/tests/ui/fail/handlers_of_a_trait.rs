use inbox::{handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Payments;

trait Pays {
    async fn pay(&self, command: Pay);
}

#[handlers]
impl Pays for Payments {
    #[handler(key = "pay")]
    async fn pay(&self, _command: Pay) {}
}

fn main() {}
