#![deny(warnings, missing_docs, unused, nonstandard_style, rust_2018_idioms, unreachable_pub)]
#![deny(single_use_lifetimes, trivial_casts, unused_qualifications, unused_lifetimes)]
#![forbid(unsafe_code)]
//! A strict crate.

use inbox::{Batch, Context, Headers, State, handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 2, idempotency_key = "{id}", upgrades = PayV1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct PayV1 { id: u64 }

impl From<PayV1> for Pay {
    fn from(old: PayV1) -> Self {
        Self { id: old.id }
    }
}

#[handler(key = "pay", legacy = ["pay-old"])]
async fn pay(_command: Pay, _state: State<u8>, _context: Context, _headers: Headers) {}

#[handler(key = "pay-many", batch = 10)]
async fn pay_many(_commands: Batch<Pay>, State(_state): State<u8>) -> Result<(), String> {
    Ok(())
}

struct Payments;

#[handlers]
impl Payments {
    #[handler(key = "pay-method")]
    async fn pay(&self, _command: Pay) {}
}

fn main() {}
