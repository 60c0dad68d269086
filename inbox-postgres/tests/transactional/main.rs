//! Handlers that take `&mut Transaction`: what they write, what they schedule and what becomes of their
//! delivery is written together, exactly once, or not at all.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod batch;
mod cuts;
mod ends;
mod kit;
mod meetings;
mod mistakes;
#[path = "../reach/mod.rs"]
mod reach;
mod schedules;
mod shares;
mod times;
