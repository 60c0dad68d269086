//! Runs of lanes, as a host executes them: one delivery after the other, each settled before the next.
//!
//! The store answers what it claims as one run. What is given back, or waits for a retry, is claimed again
//! as a run of its own: so these tests look at what was written first.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod crashes;
mod ends;
mod goes_on;
mod kit;
mod stops;
mod transactions;
