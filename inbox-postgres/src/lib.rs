//! The PostgreSQL store: what a fleet shares.
//!
//! Read in the order a message travels: `schedule` (accept), `lease`, `settle`; then `maintain`,
//! `inspect`, `wake`, which tells workers, and `transaction`, in which handlers run. Each statement is a
//! file in `queries`; the schema is in `migrations`.

mod act;
mod address;
mod bulk;
mod client;
mod connect;
mod copy;
mod error;
mod fleet;
mod history;
mod insert;
mod inspect;
mod lanes;
mod lease;
mod maintain;
mod migrate;
mod options;
mod orphans;
mod parameter;
mod refusal;
mod rights;
mod roles;
mod routes;
mod row;
mod schedule;
mod schema;
mod script;
mod settle;
mod shared;
mod sql;
mod store;
mod tcp;
mod time_limit;
mod tls;
mod transaction;
mod value;
mod wake;
mod within;
mod working;

pub use connect::connect;
pub use deadpool_postgres;
pub use options::PostgresOptions;
pub use store::PostgresStore;
pub use tls::Tls;
pub use tokio_postgres;
pub use transaction::{Transaction, TransactionError};
pub use within::WithinTransaction;
