//! One suite for every store: what the traits of [`inbox_core::store`] promise, as cases.
//!
//! A store's crate runs it with one line in a file of its `tests`:
//!
//! ```
//! # use std::{pin::Pin, sync::Arc};
//! # use inbox_testing::conformance::TestDatabase;
//! # use inbox_core::store::Store;
//! # struct MyDatabase;
//! # impl MyDatabase { async fn new() -> Self { Self } }
//! # impl TestDatabase for MyDatabase {
//! #     fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
//! #         Box::pin(async { unreachable!() })
//! #     }
//! # }
//! inbox_testing::conformance!(MyDatabase::new);
//! ```
//!
//! Every case gets a database of its own, says what time it is, and waits for nothing.

mod cases;
mod kit;
mod suite;

#[doc(hidden)]
pub mod accept;
#[doc(hidden)]
pub mod cancel;
#[doc(hidden)]
pub mod fleet;
#[doc(hidden)]
pub mod inspect;
#[doc(hidden)]
pub mod lease;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod next_due;
#[doc(hidden)]
pub mod order;
#[doc(hidden)]
pub mod promote;
#[doc(hidden)]
pub mod reachable;
#[doc(hidden)]
pub mod reclaim;
#[doc(hidden)]
pub mod release;
#[doc(hidden)]
pub mod renew;
#[doc(hidden)]
pub mod reschedule;
#[doc(hidden)]
pub mod routes;
#[doc(hidden)]
pub mod settle;
#[doc(hidden)]
pub mod wake;

use std::pin::Pin;
use std::sync::Arc;

use inbox_core::store::Store;

/// A database of its own for one test.
pub trait TestDatabase: Send + Sync {
    /// Opens it once more, as another process would.
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>>;
}

/// Runs one case, so that the caller needs no runtime.
#[doc(hidden)]
pub fn run<D: TestDatabase>(
    database: impl Future<Output = D>,
    case: impl AsyncFnOnce(&dyn TestDatabase),
) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("there is no runtime: {error}"));
    runtime.block_on(async {
        let database = database.await;
        case(&database).await;
    });
}
