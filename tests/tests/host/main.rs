//! A host at work: it begins, wakes, works within its limits, gets over what goes wrong, and ends.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod chores;
mod claims;
mod control;
mod drops;
mod ends;
mod everywhere;
mod failover;
mod fleet;
mod harm;
mod health;
mod kit;
mod leases;
mod limits;
mod outage;
mod pooled;
mod quarantine;
mod runs;
mod settles;
mod shutdown;
mod standby;

mod trouble;
mod wakes;
