//! A host behind a pooler, which listens past it.

use inbox::postgres::PostgresOptions;
use inbox::testing::postgres::{PgBouncer, PostgresDatabase};

use crate::wakes::wakes_for_everything;

#[tokio::test]
async fn a_host_behind_a_pooler_wakes_for_all_that_becomes_ready() {
    let database = PostgresDatabase::create().await.unwrap();
    let pooler = PgBouncer::before(database.config(), 2).unwrap();
    let config = pooler.config(database.config());
    let open = async || {
        let options = PostgresOptions::new().ensure_schema().connections(4);
        let options = options.behind_pooler().listen_at(database.url());
        options.open_config(config.clone()).await.unwrap()
    };
    wakes_for_everything(open().await, open().await).await;
}
