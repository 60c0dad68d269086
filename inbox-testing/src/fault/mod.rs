//! A network that fails when a test says so: a proxy in front of PostgreSQL, or of any server that is
//! reached over TCP.
//!
//! ```no_run
//! use inbox_testing::fault::{Fault, FaultProxy};
//! use inbox_testing::postgres::PostgresDatabase;
//!
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! let database = PostgresDatabase::create().await?;
//! let proxy = FaultProxy::before(database.config()).await?;
//! // Connect with `proxy.config()` instead of `database.config()`; then:
//! proxy.set(Fault::BlackHole);
//! proxy.heal();
//! // The next answer of the server does not arrive, although what was asked was done.
//! proxy.lose_next_reply();
//! # Ok(())
//! # }
//! ```
//!
//! Answers are recognised in plain text only: connect without TLS.

mod control;
mod line;
mod proxy;

pub use control::Fault;
pub use proxy::FaultProxy;
