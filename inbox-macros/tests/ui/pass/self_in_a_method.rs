use inbox::{State, handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay;

mod shop {
    pub struct Payments;
}

trait Owner {
    type Part: Clone + Send + Sync;
    const SIZE: usize;
}

impl Owner for shop::Payments {
    type Part = u8;
    const SIZE: usize = 2;
}

#[handlers]
impl shop::Payments {
    #[handler(key = "pay")]
    #[handler(key = "pay-too")]
    async fn pay(
        self: std::sync::Arc<Self>,
        _command: Pay,
        _other: State<std::sync::Arc<Self>>,
        _part: State<<Self as Owner>::Part>,
        _array: State<[u8; Self::SIZE]>,
    ) -> Result<(), String> {
        Ok(())
    }
}

fn main() {}
