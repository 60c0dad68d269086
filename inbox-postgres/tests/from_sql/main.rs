//! Scheduling from SQL: the same rules as from Rust.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

#[path = "../reach/mod.rs"]
mod reach;
mod shown;

use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::{Acceptance, ScheduleOptions};
use inbox::store::DeliveryState;
use inbox::{Context, Inbox, MessageId, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
}

#[handler(key = "pay", max_attempts = 1)]
async fn pay(command: Pay, context: Context) -> Result<(), String> {
    let seen = (context.tenant(), context.correlation_id(), context.headers().get("trace"));
    match (command.id, seen) {
        (42, ("acme", Some("order"), Some("abc"))) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

async fn application() -> (PostgresDatabase, Inbox<PostgresStore>) {
    let database = PostgresDatabase::create().await.unwrap();
    let options = PostgresOptions::new().connections(2).ensure_schema();
    let store = options.open_on(&database).await.unwrap();
    (database, Inbox::builder(store).build().await.unwrap())
}

const SCHEDULE: &str = "SELECT message_id::text, is_new, payload_matches FROM inbox.schedule(
    'pay', 1, '{\"id\": 42}', idempotency_key => '42', tenant => 'acme',
    correlation_id => 'order', headers => '{\"trace\": \"abc\"}')";

#[tokio::test]
async fn a_command_scheduled_in_sql_reaches_its_handler_and_is_one_with_that_of_rust() {
    let (database, inbox) = application().await;
    let client = database.connect().await.unwrap();
    let first = client.query_one(SCHEDULE, &[]).await.unwrap();
    assert!(first.get::<_, bool>(1));
    let again = client.query_one(SCHEDULE, &[]).await.unwrap();
    assert_eq!((again.get(1), again.get(2)), (false, Some(true)));
    let options = ScheduleOptions::new().tenant("acme");
    let from_rust = inbox.scheduler().schedule(Pay { id: 42 }, options).await.unwrap();
    assert_eq!(from_rust.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    assert_eq!(from_rust.message_id().to_string(), first.get::<_, String>(0));
    assert_eq!(inbox.process_pending().await.unwrap().completed, 1);
}

#[tokio::test]
async fn what_sql_accepts_is_as_rust_accepts_it() {
    let (database, inbox) = application().await;
    let client = database.connect().await.unwrap();
    let state = async |arguments: &str| {
        let sql = format!("SELECT message_id::text FROM inbox.schedule({arguments})");
        let id: String = client.query_one(&sql, &[]).await.unwrap().get(0);
        let id: MessageId = id.parse().unwrap();
        let status = inbox.status(id).await.unwrap().unwrap();
        let delivery = status.deliveries[0].clone();
        (delivery.handler_key, delivery.state, delivery.reason)
    };
    let (pay, some) = (Some("pay".to_owned()), |word: &str| Some(word.to_owned()));
    let ready = (pay.clone(), DeliveryState::Pending, None);
    assert_eq!(state("'pay', 1, '{}'").await, ready);
    assert_eq!(state("'pay', 1, '{}', delay => '0'").await, ready);
    assert_eq!(state("'pay', 1, '{}', headers => NULL, tenant => NULL").await, ready);
    assert_eq!(state("'pay', 1, '{}', start_at => '2001-01-01'").await, ready);
    let delayed = (pay, DeliveryState::Waiting, some("delay"));
    assert_eq!(state("'pay', 1, '{}', delay => '1 hour'").await, delayed);
    let unrouted = (None, DeliveryState::Waiting, some("no-route"));
    assert_eq!(state("'nobody', 1, '{}'").await, unrouted);
    assert_eq!(state("'nobody', 1, 'null', delay => '1 hour'").await, unrouted);
}

#[tokio::test]
async fn what_no_store_would_take_is_refused_in_sql_too() {
    let (database, _inbox) = application().await;
    let client = database.connect().await.unwrap();
    for (arguments, expected) in [
        ("'', 1, '{}'", "a message has no contract"),
        ("NULL, 1, '{}'", "a message has no contract"),
        ("'pay', 1, '{}', start_at => 'infinity'", "starts at no moment"),
        ("'pay', 0, '{}'", "version 0 of contract `pay`"),
        ("'pay', 1, NULL", "has no payload"),
        ("'pay', 1, '{}', idempotency_key => ''", "the idempotency key"),
        ("'pay', 1, '{}', idempotency_key => repeat('ж', 201)", "has 201 characters"),
        ("'pay', 1, '{}', priority => 'soon'", "`soon` is no priority"),
        ("'pay', 1, '{}', delay => '1s', start_at => now()", "both a start and a delay"),
        ("'pay', 1, '{}', headers => '{\"a\": 1}'", "are no object of strings"),
    ] {
        let sql = format!("SELECT * FROM inbox.schedule({arguments})");
        let error = client.query(&sql, &[]).await.unwrap_err();
        let said = error.as_db_error().unwrap().message();
        assert!(said.contains(expected), "{arguments}: {said}");
    }
    let stored = client.query_one("SELECT count(*) FROM inbox.message", &[]).await.unwrap();
    assert_eq!(stored.get::<_, i64>(0), 0);
}
