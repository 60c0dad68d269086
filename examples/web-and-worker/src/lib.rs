//! What `web` and `worker` share: the command, the database, and where they listen.
//!
//! ```sh
//! cargo run -p web-and-worker --bin worker   # and in another terminal
//! cargo run -p web-and-worker --bin web
//! ```
//!
//! Both read `DATABASE_URL`.

mod contract;
mod database;
mod listen;

pub use contract::ConfirmOrder;
pub use database::Database;
pub use listen::listen;
