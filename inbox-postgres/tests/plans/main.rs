//! The plans of the statements that run all the time, whatever PostgreSQL knows of the tables.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod chores;
mod claims;
mod database;
mod every;
mod lanes;
mod looks;
mod plan;
mod statements;
mod tenants;
