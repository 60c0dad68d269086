use inbox::{handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[cfg(any())]
#[derive(Serialize, Deserialize)]
struct Pay;

#[handler(key = "pay")]
#[cfg(any())]
async fn pay(_command: Pay) {}

#[inbox_contract(name = "pay", version = 1)]
#[cfg_attr(all(), cfg(all()))]
#[cfg_attr(all(), derive(Serialize, Deserialize))]
struct PayHere;

struct Payments;

#[handlers]
impl Payments {
    #[handler(key = "pay-never")]
    #[cfg(any())]
    async fn never(&self, _command: Pay) {}

    #[handler(key = "pay")]
    #[cfg(all())]
    async fn pay(&self, _command: PayHere) {}
}

fn main() {}
