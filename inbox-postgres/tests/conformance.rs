//! The suite that every store passes, on a real server.

mod reach;

use std::pin::Pin;
use std::sync::Arc;

use inbox_core::store::Store;
use inbox_postgres::PostgresStore;
use inbox_testing::conformance::TestDatabase;
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;

/// A database of its own; every connection is a store with a pool of its own.
struct OnServer(PostgresDatabase);

impl OnServer {
    async fn new() -> Self {
        match PostgresDatabase::create().await {
            Ok(database) => Self(database),
            Err(error) => panic!("{error}"),
        }
    }

    async fn store(&self) -> PostgresStore {
        let options = reach::options().connections(4).ensure_schema();
        match options.open_on(&self.0).await {
            Ok(store) => store,
            Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
        }
    }
}

impl TestDatabase for OnServer {
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
        Box::pin(async { Arc::new(self.store().await) as Arc<dyn Store> })
    }
}

inbox_testing::conformance!(OnServer::new);
