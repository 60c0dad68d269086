use std::time::Duration;

use inbox::postgres::tokio_postgres::Client;
use inbox_core::store::{StoreError, StoreErrorKind};
use inbox_postgres::PostgresOptions;
use inbox_testing::postgres::PostgresDatabase;

use crate::reach::{self, Reach as _};
use crate::{dump, open};

/// A database where every change of the schema first does what `body` says.
async fn held_up_by(body: &str) -> (PostgresDatabase, Client) {
    let database = PostgresDatabase::create().await.unwrap();
    let client = database.connect().await.unwrap();
    let trigger = format!(
        "CREATE FUNCTION hold_up() RETURNS event_trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM {body}; END $$;
         CREATE EVENT TRIGGER hold_up ON ddl_command_start EXECUTE FUNCTION hold_up()"
    );
    client.batch_execute(&trigger).await.unwrap();
    (database, client)
}

async fn migrate(database: &PostgresDatabase, options: PostgresOptions) -> Result<(), StoreError> {
    options.migrate_on(database).await
}

const SHORT: Duration = Duration::from_millis(50);

/// Enough to connect on a busy machine, and not too long to be waited for.
const CALL: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_migration_that_takes_too_long_is_told_and_leaves_nothing() {
    let (database, client) = held_up_by("pg_sleep(3600)").await;
    let error = migrate(&database, PostgresOptions::new().migration_timeout(SHORT)).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("was not migrated within 50ms"), "{error}");
    assert!(error.to_string().contains("`PostgresOptions::migration_timeout`"), "{error}");
    assert_eq!(dump(&database).await, "");
    client.batch_execute("DROP EVENT TRIGGER hold_up").await.unwrap();
    // No lock is left either.
    migrate(&database, PostgresOptions::new()).await.unwrap();
    open(&database).await.unwrap();
}

/// Also while it looks at what was applied: by the server's word, which a migration's time limit sends too.
#[tokio::test]
async fn a_migration_that_the_server_stops_at_its_first_question_is_told_like_any_other() {
    let database = PostgresDatabase::create().await.unwrap();
    migrate(&database, reach::options()).await.unwrap();
    let (mut holder, client) =
        (database.connect().await.unwrap(), database.connect().await.unwrap());
    let transaction = holder.transaction().await.unwrap();
    let lock = "LOCK TABLE inbox.migration IN ACCESS EXCLUSIVE MODE";
    transaction.batch_execute(lock).await.unwrap();
    let migrating =
        tokio::spawn(reach::options().reaching().migrate_config(reach::config(&database)));
    let stop = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while client.query(stop, &[]).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let error = migrating.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("`PostgresOptions::migration_timeout`"), "{error}");
}

#[tokio::test]
async fn a_migration_is_bound_neither_by_the_time_for_a_call_nor_by_that_of_the_database() {
    let longer = "pg_sleep(10.5) WHERE tg_tag = 'CREATE SCHEMA'";
    let (database, client) = held_up_by(longer).await;
    let limit = format!("ALTER DATABASE {database} SET statement_timeout = '10s'");
    client.batch_execute(&limit).await.unwrap();
    migrate(&database, PostgresOptions::new().call_timeout(CALL)).await.unwrap();
}

#[tokio::test]
async fn whoever_waits_for_another_migration_is_told_so() {
    let (database, client) = held_up_by("pg_advisory_xact_lock(1)").await;
    client.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let config = reach::config(&database);
    let first = tokio::spawn(reach::options().reaching().migrate_config(config));
    until_someone_waits(&client).await;
    let error = migrate(&database, PostgresOptions::new().migration_timeout(SHORT)).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("another program has been migrating"), "{error}");
    client.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    first.await.unwrap().unwrap();
    open(&database).await.unwrap();
}

#[tokio::test]
async fn a_migration_does_not_make_others_wait_behind_it_for_longer_than_for_an_answer() {
    let (database, client) = held_up_by("pg_advisory_xact_lock(1)").await;
    client.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let error = migrate(&database, PostgresOptions::new().call_timeout(CALL)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("is in use by a transaction that does not end"), "{error}");
    assert_eq!(dump(&database).await, "");
}

async fn until_someone_waits(client: &Client) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event = 'advisory'";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::task::yield_now().await;
    }
}
