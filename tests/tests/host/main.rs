//! A host at work: it begins, wakes, works within its limits, gets over what goes wrong, and ends.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod control;
mod corners;
mod drops;
mod harm;
mod kit;
mod limits;
mod outage;
mod runs;
mod shutdown;
mod standby;
mod trouble;
mod wakes;
