//! A store says whether it can be used.

use inbox::postgres::PostgresOptions;
use inbox::store::{Maintain as _, StoreErrorKind};
use inbox_testing::fault::{Fault, FaultProxy};
use inbox_testing::postgres::PostgresDatabase;

use crate::kit::open;
use crate::reach::{self, Reach as _, at_last};

#[tokio::test]
async fn a_store_that_cannot_be_reached_or_has_no_schema_says_so() {
    let database = PostgresDatabase::create().await.unwrap();
    let direct = open(&database, PostgresOptions::new()).await;
    at_last(async || direct.check().await).await;
    let proxy = FaultProxy::before(&reach::config(&database)).await.unwrap();
    let store =
        PostgresOptions::new().reaching().open_config(proxy.config().clone()).await.unwrap();
    at_last(async || store.check().await).await;
    proxy.set(Fault::BlackHole);
    let silent = store.check().await.unwrap_err();
    assert_eq!(silent.kind(), StoreErrorKind::TimedOut, "{silent}");
    proxy.heal();
    at_last(async || store.check().await).await;
    let client = database.connect().await.unwrap();
    client.batch_execute("DROP SCHEMA inbox CASCADE").await.unwrap();
    // It has five seconds to find out, which may be too little.
    let missing = at_last(async || match store.check().await {
        Err(error) if error.kind() == StoreErrorKind::Schema => Ok(error),
        Err(error) => Err(error),
        Ok(()) => panic!("the schema is missing"),
    });
    missing.await;
}
