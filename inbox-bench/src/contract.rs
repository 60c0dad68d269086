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

/// The key that deliveries are stored under; nothing runs here.
pub(crate) const HANDLER: &str = "bench";
