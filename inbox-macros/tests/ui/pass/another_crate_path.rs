use inbox::{handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

mod facade {
    pub use inbox as durable;
}

#[inbox_contract(name = "pay", version = 1, crate = crate::facade::durable)]
#[derive(Serialize, Deserialize)]
struct Pay;

#[handler(key = "pay", crate = facade::durable)]
async fn pay(_command: Pay) {}

struct Payments;

#[handlers(crate = facade::durable)]
impl Payments {
    #[handler(key = "pay-method")]
    async fn pay(&self, _command: Pay) {}
}

#[handler(key = "pay-many", batch = 10, crate = facade::durable)]
async fn pay_many(_commands: facade::durable::Batch<Pay>) {}

#[inbox_contract(name = "core-only", version = 1, crate = inbox_core)]
#[derive(Serialize, Deserialize)]
struct CoreOnly;

fn main() {}
