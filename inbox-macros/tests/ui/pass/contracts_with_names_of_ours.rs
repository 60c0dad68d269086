use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "context", version = 1)]
#[derive(Serialize, Deserialize)]
struct Context;

#[handler(key = "context")]
async fn context(_command: Context) {}

#[handler(key = "context-with-state")]
async fn context_with_state(_command: self::Context, _state: inbox::State<u8>) {}

mod mine {
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Batch<T>(pub T);
}

inbox::contract!(mine::Batch<u8>, name = "batch", version = 1);

#[handler(key = "batch")]
async fn batch(_command: mine::Batch<u8>) {}

fn main() {}
