//! Several processes on one store, killed and started again: nothing is lost, nothing is doubled.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod file;
mod fleet;
mod pooled;
mod server;
mod sharing;
mod strokes;
mod transactions;
