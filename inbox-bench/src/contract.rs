use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

/// About a hundred bytes of JSON.
#[inbox_contract(name = "bench", version = 1)]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Command {
    pub(crate) number: usize,
    text: String,
}

impl Command {
    pub(crate) fn new(number: usize) -> Self {
        Self { number, text: "x".repeat(70) }
    }
}

/// One of a lane, with its number in it; or of none.
#[inbox_contract(name = "bench.step", version = 1)]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) lane: Option<usize>,
    pub(crate) number: usize,
}

/// For a handler with a limit for the whole fleet.
#[inbox_contract(name = "bench.shared", version = 1)]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shared {
    pub(crate) number: usize,
}

/// For a handler with a limit for each concurrency key.
#[inbox_contract(name = "bench.limited", version = 1, concurrency_key = "{key}")]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Limited {
    pub(crate) key: usize,
    pub(crate) number: usize,
}

/// What leaves a row behind.
#[inbox_contract(name = "bench.effect", version = 1)]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Effect {
    pub(crate) number: i64,
}

/// What a worker vanishes with.
#[inbox_contract(name = "bench.held", version = 1)]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) milliseconds: u64,
}

/// The key that deliveries are stored under; nothing runs here.
pub(crate) const HANDLER: &str = "bench";
