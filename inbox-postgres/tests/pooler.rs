//! A store behind PgBouncer in transaction mode, and one that does not know that it is.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inbox::postgres::tokio_postgres::{Client, NoTls};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::{DeliveryState, Inspect as _, LeaseStore as _, StoreErrorKind};
use inbox::{Inbox, ScheduleOptions, State, handler, inbox_contract};
use inbox_testing::postgres::{PgBouncer, PostgresDatabase};
use reach::{PATIENCE, at_last};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
}

#[derive(Clone, Default)]
struct Paid(Arc<AtomicU64>);

#[handler(key = "pay")]
async fn pay(_command: Pay, State(paid): State<Paid>) {
    paid.0.fetch_add(1, Ordering::SeqCst);
}

/// A pooler of one's own, with so many connections.
async fn pooled(connections: u32) -> (PostgresDatabase, PgBouncer) {
    let database = PostgresDatabase::create().await.unwrap();
    let pooler = PgBouncer::before(database.config(), connections).unwrap();
    PostgresOptions::new().migrate_config(database.config().clone()).await.unwrap();
    (database, pooler)
}

async fn open(database: &PostgresDatabase, pooler: &PgBouncer) -> PostgresStore {
    let options = reach::options().connections(1).behind_pooler();
    options.open_config(pooler.config(database.config())).await.unwrap()
}

async fn connect(database: &PostgresDatabase, pooler: &PgBouncer) -> Client {
    let (client, connection) = pooler.config(database.config()).connect(NoTls).await.unwrap();
    tokio::spawn(async move { connection.await.ok() });
    client
}

async fn schedule(inbox: &Inbox<PostgresStore>, ids: std::ops::Range<u64>) {
    for id in ids {
        inbox.scheduler().schedule(Pay { id }, ScheduleOptions::new()).await.unwrap();
    }
}

async fn until_paid(inbox: &Inbox<PostgresStore>, count: u64) {
    let done = async {
        loop {
            let counts = inbox.store().counts().await.unwrap();
            let done = counts.iter().filter(|count| count.state == DeliveryState::Completed);
            if done.map(|count| count.count).sum::<u64>() == count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, done).await.unwrap();
}

/// Hosts that cannot listen find by themselves what other processes schedule.
#[tokio::test]
async fn one_connection_is_enough_for_two_hosts_that_only_look() {
    let (database, pooler) = pooled(1).await;
    let paid = Paid::default();
    let mut hosts = Vec::new();
    for _ in 0..2 {
        let store = open(&database, &pooler).await;
        assert!(store.listen().is_none(), "nobody would hear anything");
        let inbox = Inbox::builder(store).state(paid.clone()).build().await.unwrap();
        hosts.push((inbox.start().unwrap(), inbox));
    }
    let elsewhere = open(&database, &pooler).await;
    let elsewhere = Inbox::builder(elsewhere).scheduler_only().build().await.unwrap();
    schedule(&elsewhere, 0..20).await;
    let many = (20..520).map(|id| (Pay { id }, ScheduleOptions::new()));
    elsewhere.scheduler().schedule_bulk(many).await.unwrap();
    until_paid(&elsewhere, 520).await;
    assert_eq!(paid.0.load(Ordering::SeqCst), 520);
    for (host, _) in hosts {
        host.shutdown(PATIENCE).await;
    }
}

#[tokio::test]
async fn nothing_is_left_on_a_connection_that_others_use_next() {
    let (database, pooler) = pooled(1).await;
    let inbox = Inbox::builder(open(&database, &pooler).await).state(Paid::default());
    let inbox = inbox.build().await.unwrap();
    schedule(&inbox, 0..3).await;
    let keyed = ScheduleOptions::new().idempotency_key("key");
    inbox.scheduler().schedule_bulk([(Pay { id: 3 }, keyed)]).await.unwrap();
    inbox.process_pending().await.unwrap();
    inbox.list(inbox::store::DeliveryFilter::default()).await.unwrap();
    let client = connect(&database, &pooler).await;
    let left = "SELECT coalesce(string_agg(what, ', '), 'nothing') FROM (
                    SELECT statement FROM pg_prepared_statements
                    UNION ALL SELECT relname FROM pg_class WHERE relpersistence = 't'
                    UNION ALL SELECT * FROM pg_listening_channels()
                    UNION ALL SELECT 'a lock' FROM pg_locks
                              WHERE locktype = 'advisory' AND pid = pg_backend_pid()
                    UNION ALL SELECT name FROM pg_settings WHERE source = 'session'
                              AND name IN ('plan_cache_mode', 'enable_seqscan', 'statement_timeout')
                ) AS left_behind (what)";
    // Without names: this, too, would leave something.
    let answer = client.simple_query(left).await.unwrap();
    let left = answer.iter().find_map(|message| match message {
        inbox::postgres::tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    assert_eq!(left, Some("nothing"));
}

#[tokio::test]
async fn a_store_that_does_not_know_of_the_pooler_says_what_to_write() {
    let (database, pooler) = pooled(2).await;
    let options = PostgresOptions::new().connections(1).without_notify();
    let store = options.open_config(pooler.config(database.config())).await.unwrap();
    store.counts().await.unwrap();
    // The connection that knows the statement is someone else's for a while.
    let client = connect(&database, &pooler).await;
    client.batch_execute("BEGIN").await.unwrap();
    let error = store.counts().await.unwrap_err();
    client.batch_execute("COMMIT").await.unwrap();
    assert!(error.to_string().contains("PostgresOptions::behind_pooler"), "{error}");
    assert!(error.to_string().contains("pgbouncer=true"), "{error}");
}

#[tokio::test]
async fn an_address_says_that_it_is_a_poolers() {
    let (database, pooler) = pooled(2).await;
    let user = database.config().get_user().unwrap();
    let url = pooler.url(user, &database.to_string());
    let store = PostgresOptions::new().connections(1).open(&url).await.unwrap();
    assert!(store.listen().is_none());
    let client = connect(&database, &pooler).await;
    for _ in 0..3 {
        store.counts().await.unwrap();
        client.batch_execute("BEGIN").await.unwrap();
        store.counts().await.unwrap();
        client.batch_execute("COMMIT").await.unwrap();
    }
    let error = PostgresOptions::new().listen_at(&url).open(&database.url()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen, "{error}");
    assert!(error.to_string().contains("nobody can listen through a pooler"), "{error}");
}

#[tokio::test]
async fn a_writer_behind_a_pooler_schedules() {
    let (database, pooler) = pooled(2).await;
    let owner = database.connect().await.unwrap();
    owner.batch_execute(&PostgresOptions::new().roles_sql().unwrap()).await.unwrap();
    let user = format!("{database}_web");
    let made = format!("CREATE ROLE {user} LOGIN IN ROLE inbox_writer");
    owner.batch_execute(&made).await.unwrap();
    let url = pooler.url(&user, &database.to_string());
    let store = PostgresOptions::new().open(&url).await.unwrap();
    let inbox = Inbox::builder(store.clone()).scheduler_only().build().await.unwrap();
    schedule(&inbox, 0..3).await;
    let error = store.counts().await.unwrap_err();
    assert!(error.to_string().contains("`inbox_operator`"), "{error}");
    let stored = owner.query_one("SELECT count(*) FROM inbox.message", &[]).await.unwrap();
    assert_eq!(stored.get::<_, i64>(0), 3);
    owner.batch_execute(&format!("DROP ROLE {user}")).await.unwrap();
}

/// PgBouncer 1.18 may end of a request to cancel; the server stops the statement by itself.
#[tokio::test]
async fn what_nobody_waits_for_ends_and_the_pooler_goes_on() {
    let (database, pooler) = pooled(2).await;
    let options = PostgresOptions::new().connections(1).behind_pooler().without_notify();
    // The first call that has its answer in this time says that the store can be used.
    let options = options.call_timeout(Duration::from_secs(1));
    let config = pooler.config(database.config());
    let store = at_last(async || options.clone().open_config(config.clone()).await).await;
    let holder = database.connect().await.unwrap();
    holder.batch_execute("BEGIN; LOCK TABLE inbox.dead").await.unwrap();
    for _ in 0..5 {
        let error = store.counts().await.unwrap_err();
        assert!(error.is_transient(), "{error}");
    }
    let watcher = database.connect().await.unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while watcher.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    holder.batch_execute("COMMIT").await.unwrap();
    at_last(async || store.counts().await).await;
}
