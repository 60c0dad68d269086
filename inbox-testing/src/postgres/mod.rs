//! PostgreSQL for tests: a server of one's own, and an empty database for each test.

mod binaries;
mod database;
mod error;
mod server;
mod user;

pub use database::PostgresDatabase;
pub use error::PostgresError;
pub use server::PostgresServer;
