#![deny(missing_docs)]
//! A crate.

use inbox::{handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

/// A command.
#[inbox_contract(name = "pay", version = 1)]
#[derive(Debug, Serialize, Deserialize)]
pub struct Pay {
    /// Its id.
    pub id: u64,
}

/// Its handler.
#[handler(key = "pay")]
#[inline]
pub async fn pay(_command: Pay) {}

/// An owner.
pub struct Payments;

#[handlers]
impl Payments {
    /// Another.
    #[handler(key = "pay-again")]
    pub async fn pay(&self, _command: Pay) {}
}

fn main() {}
