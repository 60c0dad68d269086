//! The schema: made once by whoever is first, refused when it is not this program's.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use inbox_core::store::{Inspect as _, StoreError, StoreErrorKind};
use inbox_postgres::{PostgresOptions, PostgresStore};
use inbox_testing::postgres::PostgresDatabase;

async fn open(database: &PostgresDatabase) -> Result<PostgresStore, StoreError> {
    PostgresOptions::new().connections(1).open_config(database.config().clone()).await
}

async fn ensure(database: &PostgresDatabase) -> Result<PostgresStore, StoreError> {
    let options = PostgresOptions::new().connections(1).ensure_schema();
    options.open_config(database.config().clone()).await
}

async fn execute(database: &PostgresDatabase, sql: &str) {
    database.connect().await.unwrap().batch_execute(sql).await.unwrap();
}

#[tokio::test]
async fn a_missing_schema_is_told_with_what_to_do_and_nothing_is_made() {
    let database = PostgresDatabase::create().await.unwrap();
    for _ in 0..2 {
        let error = open(&database).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Schema);
        assert!(error.to_string().contains("`inbox` is missing: bring it up to date"), "{error}");
    }
    ensure(&database).await.unwrap();
    assert!(open(&database).await.unwrap().counts().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_that_start_at_once_on_an_empty_database_end_in_one_schema() {
    let database = std::sync::Arc::new(PostgresDatabase::create().await.unwrap());
    let starting: Vec<_> = (0..20)
        .map(|_| {
            let database = std::sync::Arc::clone(&database);
            tokio::spawn(async move { ensure(&database).await.map(drop) })
        })
        .collect();
    for started in starting {
        started.await.unwrap().unwrap();
    }
    let client = database.connect().await.unwrap();
    let rows = client.query("SELECT version, name FROM inbox.migration", &[]).await.unwrap();
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn an_older_schema_is_told_as_such_and_brought_up_to_date_with_all_that_is_in_it() {
    let database = PostgresDatabase::create().await.unwrap();
    ensure(&database).await.unwrap();
    // As the first release left it, with a message in it.
    execute(
        &database,
        "DROP FUNCTION inbox.schedule; DROP FUNCTION inbox.check_name;
         DROP FUNCTION inbox.new_message_id; DELETE FROM inbox.migration WHERE version > 1;
         INSERT INTO inbox.message (id, contract, version, payload, accepted_at)
         VALUES (gen_random_uuid(), 'pay', 1, '{}', now())",
    )
    .await;
    let error = open(&database).await.unwrap_err();
    assert!(error.to_string().contains("has version 1, older than this program's"), "{error}");
    ensure(&database).await.unwrap();
    let client = database.connect().await.unwrap();
    let messages = client.query("SELECT id FROM inbox.message", &[]).await.unwrap();
    assert_eq!(messages.len(), 1);
    client.query("SELECT inbox.schedule('pay', 1, '{}')", &[]).await.unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_nothing_is_written() {
    let database = PostgresDatabase::create().await.unwrap();
    ensure(&database).await.unwrap();
    execute(&database, "INSERT INTO inbox.migration VALUES (999, 'from the future', '')").await;
    for error in [open(&database).await.unwrap_err(), ensure(&database).await.unwrap_err()] {
        assert_eq!(error.kind(), StoreErrorKind::Schema);
        assert!(error.to_string().contains("has version 999 (`from the future`)"), "{error}");
    }
}

#[tokio::test]
async fn a_schema_made_with_another_text_or_with_a_gap_is_refused() {
    let database = PostgresDatabase::create().await.unwrap();
    ensure(&database).await.unwrap();
    execute(&database, "UPDATE inbox.migration SET checksum = 'other'").await;
    let error = open(&database).await.unwrap_err();
    assert!(error.to_string().contains("was made with another text"), "{error}");
    let database = PostgresDatabase::create().await.unwrap();
    ensure(&database).await.unwrap();
    execute(&database, "DELETE FROM inbox.migration WHERE version = 1").await;
    let error = open(&database).await.unwrap_err();
    assert!(error.to_string().contains("lacks a version before 2"), "{error}");
}

#[tokio::test]
async fn a_migration_that_is_dropped_anywhere_leaves_no_lock() {
    let database = PostgresDatabase::create().await.unwrap();
    for polls in 1..60 {
        let mut migrating = Box::pin(ensure(&database));
        for _ in 0..polls {
            let polled = std::future::poll_fn(|context| {
                std::task::Poll::Ready(migrating.as_mut().poll(context).is_ready())
            });
            if polled.await {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    // Would wait for ever behind a lock that nobody holds any more.
    ensure(&database).await.unwrap();
}

#[tokio::test]
async fn two_schemas_of_any_name_live_side_by_side() {
    let database = PostgresDatabase::create().await.unwrap();
    for name in ["inbox", "Über \"us\"; DROP TABLE x; --"] {
        let options = PostgresOptions::new().connections(1).schema(name).ensure_schema();
        let store = options.open_config(database.config().clone()).await.unwrap();
        assert!(store.counts().await.unwrap().is_empty());
    }
    let refused = PostgresOptions::new().schema("pg_mine");
    let error = refused.open_config(database.config().clone()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Schema);
}

#[tokio::test]
async fn the_schema_can_be_made_by_hand_from_its_text() {
    let database = PostgresDatabase::create().await.unwrap();
    let elsewhere = PostgresDatabase::create().await.unwrap();
    let text = ensure(&elsewhere).await.unwrap().schema_sql();
    execute(&database, &text).await;
    open(&database).await.unwrap();
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told_as_such() {
    let database = PostgresDatabase::create().await.unwrap();
    let mut config = database.config().clone();
    config.dbname("no_such_database");
    let error = PostgresOptions::new().open_config(config).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen, "{error}");
    let error = inbox_postgres::connect("not an address").await.unwrap_err();
    assert!(error.to_string().contains("write it like postgres://"), "{error}");
}
