#![deny(warnings)]

use inbox::{handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[deprecated = "use `Pay`"]
#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
pub struct PayV1;

#[inbox_contract(name = "pay", version = 2, upgrades = PayV1)]
#[derive(Serialize, Deserialize)]
pub struct Pay;

#[allow(deprecated)]
impl From<PayV1> for Pay {
    fn from(_: PayV1) -> Self {
        Self
    }
}

#[deprecated]
#[handler(key = "pay")]
pub async fn pay(_command: Pay) {}

pub struct Payments;

#[handlers]
impl Payments {
    #[deprecated]
    #[handler(key = "pay-method")]
    pub async fn pay(&self, _command: Pay) {}
}

fn main() {}
