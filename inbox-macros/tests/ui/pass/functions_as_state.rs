use inbox::{State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

use std::sync::Arc;

type Shown<'a> = &'a dyn std::fmt::Display;

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay")]
async fn pay(
    _command: Pay,
    _pointer: State<fn(Shown<'_>) -> String>,
    _closure: State<Arc<dyn Fn(&str) -> String + Send + Sync>>,
    _text: State<&'static str>,
) {
}

fn main() {}
