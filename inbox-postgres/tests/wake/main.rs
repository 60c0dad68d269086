//! Workers learn what is ready, and leases are renewed whatever handlers hold up.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod check;
mod ear;
mod kit;
mod listen;
mod notify;
#[path = "../reach/mod.rs"]
mod reach;
mod renew;
mod within;
