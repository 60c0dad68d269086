//! A store says whether it can be used.

use inbox::postgres::PostgresOptions;
use inbox::store::{Maintain as _, StoreErrorKind};
use inbox_testing::fault::{Fault, FaultProxy};
use inbox_testing::postgres::PostgresDatabase;
use tokio::time::timeout;

use crate::kit::{PATIENCE, open};
use crate::reach::{self, Reach as _};

#[tokio::test]
async fn a_store_that_cannot_be_reached_or_has_no_schema_says_so() {
    let database = PostgresDatabase::create().await.unwrap();
    open(&database, PostgresOptions::new()).await.check().await.unwrap();
    let proxy = FaultProxy::before(&reach::config(&database)).await.unwrap();
    let store =
        PostgresOptions::new().reaching().open_config(proxy.config().clone()).await.unwrap();
    store.check().await.unwrap();
    proxy.set(Fault::BlackHole);
    let silent = timeout(PATIENCE, store.check()).await.unwrap().unwrap_err();
    assert_eq!(silent.kind(), StoreErrorKind::TimedOut, "{silent}");
    proxy.heal();
    store.check().await.unwrap();
    let client = database.connect().await.unwrap();
    client.batch_execute("DROP SCHEMA inbox CASCADE").await.unwrap();
    let missing = store.check().await.unwrap_err();
    assert_eq!(missing.kind(), StoreErrorKind::Schema, "{missing}");
}
