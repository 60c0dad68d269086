//! The schema: made once by whoever is first, refused when it is not this program's.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod dump;
#[path = "../reach/mod.rs"]
mod reach;
mod samples;
mod waits;

use dump::dump;
use inbox_core::store::{Inspect as _, StoreError, StoreErrorKind};
use inbox_postgres::{PostgresOptions, PostgresStore};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;

async fn open(database: &PostgresDatabase) -> Result<PostgresStore, StoreError> {
    reach::options().connections(1).open_on(database).await
}

async fn ensure(database: &PostgresDatabase) -> Result<PostgresStore, StoreError> {
    let options = reach::options().connections(1).ensure_schema();
    options.open_on(database).await
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
        assert!(error.to_string().contains("`inbox` is missing: create it with"), "{error}");
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
    assert_eq!(dump(&database).await, newest().await);
}

/// The schema as the first release left it.
async fn first_release() -> PostgresDatabase {
    let database = PostgresDatabase::create().await.unwrap();
    let client = database.connect().await.unwrap();
    let spine = include_str!("../../migrations/0001_inbox.sql");
    for text in ["CREATE SCHEMA inbox", include_str!("../../migrations/history.sql"), spine] {
        let text = text.replace(":schema", "\"inbox\"").replace(":position", "'inbox.position'");
        client.batch_execute(&text).await.unwrap();
    }
    let record = "INSERT INTO inbox.migration VALUES (1, 'inbox', encode(sha256(convert_to($1, 'UTF8')), 'hex'))";
    client.execute(record, &[&spine]).await.unwrap();
    database
}

/// What a newest one looks like.
async fn newest() -> String {
    let database = PostgresDatabase::create().await.unwrap();
    ensure(&database).await.unwrap();
    dump(&database).await
}

#[tokio::test]
async fn an_older_schema_is_told_as_such_and_brought_up_to_date() {
    let database = first_release().await;
    let before = dump(&database).await;
    let error = open(&database).await.unwrap_err();
    assert!(error.to_string().contains("has version 1, older than this program's"), "{error}");
    assert!(error.to_string().contains("with `PostgresOptions::migrate`"), "{error}");
    assert_eq!(dump(&database).await, before);
    PostgresOptions::new().migrate_on(&database).await.unwrap();
    assert_eq!(dump(&database).await, newest().await);
    open(&database).await.unwrap();
}

#[tokio::test]
async fn a_schema_that_is_not_this_programs_is_refused_and_nothing_is_written() {
    for (change, expected) in [
        (
            "INSERT INTO inbox.migration VALUES (999, 'from the future', '')",
            "has version 999 (`from the future`), and this program knows versions up to",
        ),
        (
            "UPDATE inbox.migration SET checksum = 'other'",
            "version 1 (`inbox`) of the schema `inbox` was made with another text",
        ),
        (
            "UPDATE inbox.migration SET version = 2, name = 'schedule'",
            "has version 2 (`schedule`) and lacks version 1 (`inbox`)",
        ),
    ] {
        // There is more to do for whoever does not look.
        let database = first_release().await;
        execute(&database, change).await;
        let state = async || (dump(&database).await, history(&database).await);
        let before = state().await;
        let migrated = PostgresOptions::new().migrate_on(&database).await;
        let errors = [open(&database).await.map(drop), ensure(&database).await.map(drop), migrated];
        for error in errors.map(Result::unwrap_err) {
            assert_eq!(error.kind(), StoreErrorKind::Schema);
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.to_string().ends_with("nothing was changed"), "{error}");
        }
        assert_eq!(state().await, before);
    }
}

/// Every row of the table of migrations.
async fn history(database: &PostgresDatabase) -> Vec<String> {
    let client = database.connect().await.unwrap();
    let rows = "SELECT migration::text FROM inbox.migration ORDER BY version";
    client.query(rows, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
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
        let store = options.open_on(&database).await.unwrap();
        assert!(store.counts().await.unwrap().is_empty());
    }
    let refused = PostgresOptions::new().schema("pg_mine");
    let error = refused.open_on(&database).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Schema);
}

#[tokio::test]
async fn the_schema_can_be_made_and_brought_up_to_date_by_hand_from_its_text() {
    let options = PostgresOptions::new();
    let (empty, older) = (PostgresDatabase::create().await.unwrap(), first_release().await);
    for (database, text) in
        [(empty, options.schema_sql().unwrap()), (older, options.schema_sql_since(1).unwrap())]
    {
        execute(&database, &text).await;
        open(&database).await.unwrap();
        assert_eq!(dump(&database).await, newest().await);
    }
    let error = options.schema("pg_mine").schema_sql().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Schema);
}

#[tokio::test]
async fn a_text_that_is_applied_twice_leaves_what_the_first_one_made() {
    let database = PostgresDatabase::create().await.unwrap();
    let text = PostgresOptions::new().schema_sql().unwrap();
    execute(&database, &text).await;
    let before = history(&database).await;
    let client = database.connect().await.unwrap();
    client.batch_execute(&text).await.unwrap_err();
    drop(client);
    assert_eq!(history(&database).await, before);
    open(&database).await.unwrap();
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told_as_such() {
    let database = PostgresDatabase::create().await.unwrap();
    let mut config = database.config().clone();
    config.dbname("no_such_database");
    let error = PostgresOptions::new().open_config(config).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen, "{error}");
    let error = inbox_postgres::connect("postgres://me@127.0.0.1:1/shop").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("at 127.0.0.1, port 1, cannot be reached"), "{error}");
    let error = inbox_postgres::connect("not an address").await.unwrap_err();
    assert!(error.to_string().contains("write it like postgres://"), "{error}");
}

#[tokio::test]
async fn a_role_that_was_given_its_schema_fills_it_without_rights_on_the_database() {
    for by_hand in [false, true] {
        let database = PostgresDatabase::create().await.unwrap();
        let role = format!("owner_of_{database}");
        let make = format!("CREATE ROLE {role} LOGIN; CREATE SCHEMA inbox AUTHORIZATION {role}");
        execute(&database, &make).await;
        let mut config = reach::config(&database);
        config.user(&role);
        match by_hand {
            false => PostgresOptions::new().reaching().migrate_config(config).await.unwrap(),
            true => {
                let script = PostgresOptions::new().schema_sql().unwrap();
                execute(&database, &format!("SET ROLE {role}; {script}")).await;
            }
        }
        open(&database).await.unwrap();
        execute(&database, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    }
}
