//! Acceptances whose transaction is open while routes change: they are found, however late they come.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::time::{Duration, Instant};

use inbox::postgres::PostgresStore;
use inbox::postgres::tokio_postgres::Client;
use inbox::store::{Inspect as _, Maintain as _, Now, OnDead, Route};
use inbox::{Context, Inbox, MessageId, State, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::PATIENCE;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[inbox_contract(name = "paid", version = 1)]
#[derive(Serialize, Deserialize)]
struct Paid;

#[handler(key = "charge-card", legacy = ["charge"])]
async fn charge_card(_: Paid, State(told): State<UnboundedSender<MessageId>>, context: Context) {
    told.send(context.message_id()).unwrap();
}

async fn open() -> (PostgresDatabase, PostgresStore) {
    let database = PostgresDatabase::create().await.unwrap();
    let options = reach::options().connections(4).ensure_schema();
    let store = options.open_config(database.config().clone()).await.unwrap();
    (database, store)
}

/// This program, and what its handler was called for.
async fn program(store: &PostgresStore) -> (Inbox<PostgresStore>, UnboundedReceiver<MessageId>) {
    let (tell, told) = unbounded_channel();
    (Inbox::builder(store.clone()).state(tell).build().await.unwrap(), told)
}

async fn schedule(client: &Client) -> MessageId {
    let text = "SELECT message_id::text FROM inbox.schedule('paid', 1, 'null')";
    client.query_one(text, &[]).await.unwrap().get::<_, String>(0).parse().unwrap()
}

async fn next(told: &mut UnboundedReceiver<MessageId>) -> MessageId {
    tokio::time::timeout(PATIENCE, told.recv()).await.unwrap().unwrap()
}

async fn key_of(store: &PostgresStore, id: MessageId) -> Option<String> {
    let deliveries = store.show(id).await.unwrap().unwrap().deliveries;
    assert_eq!(deliveries.len(), 1, "{deliveries:?}");
    deliveries[0].handler_key.clone()
}

#[tokio::test]
async fn a_message_accepted_while_its_first_handler_registers_is_found_by_a_host() {
    let (database, store) = open().await;
    let client = database.connect().await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    let id = schedule(&client).await;
    // Registered, and what waited was routed: this one nobody could see.
    let (inbox, mut told) = program(&store).await;
    let host = inbox.start().unwrap();
    let seen = schedule(&database.connect().await.unwrap()).await;
    assert_eq!(next(&mut told).await, seen);
    assert!(store.show(id).await.unwrap().is_none(), "it is not committed");
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(next(&mut told).await, id);
    assert_eq!(key_of(&store, id).await.as_deref(), Some("charge-card"));
    host.shutdown(PATIENCE).await;
}

#[tokio::test]
async fn what_was_accepted_before_a_renaming_and_is_committed_after_it_is_drained() {
    for begin in ["BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"] {
        let (database, store) = open().await;
        let old = Route {
            contract: "paid".to_owned(),
            handler_key: "charge".to_owned(),
            supersedes: Vec::new(),
            context: String::new(),
            on_dead: OnDead::Block,
        };
        store.register_routes(vec![old.clone()], Now::OfStore).await.unwrap();
        let client = database.connect().await.unwrap();
        client.batch_execute(begin).await.unwrap();
        let early = schedule(&client).await;
        let (inbox, mut told) = program(&store).await;
        // Its transaction may still see what was before.
        let late = schedule(&client).await;
        let after = schedule(&database.connect().await.unwrap()).await;
        assert_eq!(key_of(&store, after).await.as_deref(), Some("charge-card"));
        client.batch_execute("COMMIT").await.unwrap();
        assert_eq!(key_of(&store, early).await.as_deref(), Some("charge"));
        // The old program, started again, has no say in it.
        store.register_routes(vec![old], Now::OfStore).await.unwrap();
        let host = inbox.start().unwrap();
        let mut handled = [next(&mut told).await, next(&mut told).await, next(&mut told).await];
        handled.sort_unstable();
        let mut all = [early, late, after];
        all.sort_unstable();
        assert_eq!(handled, all);
        host.shutdown(PATIENCE).await;
    }
}

#[tokio::test]
async fn what_was_accepted_before_a_key_was_retired_and_is_committed_after_it_is_drained() {
    let (database, store) = open().await;
    let (inbox, mut told) = program(&store).await;
    let host = inbox.start().unwrap();
    let client = database.connect().await.unwrap();
    client.batch_execute("BEGIN").await.unwrap();
    let id = schedule(&client).await;
    inbox.retire("paid", "charge-card").await.unwrap();
    let waits = schedule(&database.connect().await.unwrap()).await;
    assert_eq!(key_of(&store, waits).await, None);
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(next(&mut told).await, id);
    inbox.restore("paid", "charge-card").await.unwrap();
    assert_eq!(next(&mut told).await, waits);
    host.shutdown(PATIENCE).await;
}

#[tokio::test]
async fn a_host_whose_row_is_gone_works_on_and_comes_back() {
    let (database, store) = open().await;
    let (inbox, mut told) = program(&store).await;
    let host = inbox.start().unwrap();
    let client = database.connect().await.unwrap();
    let first = schedule(&client).await;
    assert_eq!(next(&mut told).await, first);
    client.batch_execute("DELETE FROM inbox.host").await.unwrap();
    let second = schedule(&client).await;
    assert_eq!(next(&mut told).await, second);
    // It says so again by itself.
    let known = async {
        while store.hosts().await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, known).await.unwrap();
    let begun = Instant::now();
    host.shutdown(PATIENCE).await;
    // The host has a second to say that it leaves, which a busy machine may use up.
    let had_time = begun.elapsed() < Duration::from_secs(1);
    assert!(store.hosts().await.unwrap().is_empty() || !had_time);
}
