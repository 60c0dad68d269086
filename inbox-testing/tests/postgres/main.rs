//! Servers and databases for tests come, stay and go as they are told to.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod kept;
mod look;
mod pooler;
mod server;
mod with_postgres;
