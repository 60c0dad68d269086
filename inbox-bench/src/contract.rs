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

/// All of one lane.
#[inbox_contract(name = "bench.step", version = 1, ordering_key = "the-only-one")]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Step {
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
