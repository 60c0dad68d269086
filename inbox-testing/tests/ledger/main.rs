//! The ledger keeps what happened, and the checker finds what may not.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod attempts;
mod bench;
mod completed;
mod doubled;
mod layer;
mod lost;
mod order;
mod pages;
mod reach;
mod receipts;
mod report;
mod story;
mod torn;
mod turns;
mod writers;
