use inbox::{handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Payments<'a>(&'a str);

#[handlers]
impl Payments<'_> {
    #[handler(key = "pay")]
    async fn pay(&self, _command: Pay) {}
}

fn main() {}
