//! PostgreSQL for tests: a server of one's own, and an empty database for each test.
//!
//! The databases of all tests in one program are on one server, which is started for the first of them.
//! To have one server for many programs, let `with-postgres`, a program of this crate, run them:
//!
//! ```sh
//! cargo install inbox-testing --features postgres
//! with-postgres cargo test
//! ```
//!
//! It sets `DATABASE_URL`, ends with the command's exit code, and keeps the server's data if the command
//! failed. With `DATABASE_URL` set to a server that runs anyway, none is started.

mod binaries;
mod database;
mod error;
mod keeper;
mod place;
mod pooler;
mod server;
mod user;

pub use database::PostgresDatabase;
pub use error::PostgresError;
pub use pooler::PgBouncer;
pub use server::PostgresServer;
