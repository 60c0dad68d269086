//! A worker that stood still for longer than its lease: whatever its handler comes to then, nothing
//! that is stored changes, and it says so.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod outcomes;
mod place;
mod worker;
