//! What the tests are written with.

use crate::reach::{self, PATIENCE, Reach as _};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox::postgres::deadpool_postgres::{Manager, Pool};
use inbox::postgres::tokio_postgres::{Client, NoTls};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::{ScheduleOptions, Scheduler};
use inbox::store::{
    BellListener, Lease, LeaseRequest, LeaseStore as _, LeaseToken, Maintain as _, Now, OnDead,
    Route, Terms, Wanted,
};
use inbox::{Timestamp, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};

/// How long leases hold.
pub(crate) const HOLD: Duration = Duration::from_hours(1);

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
pub(crate) struct Pay {
    pub(crate) id: u64,
}

/// A store with one connection, and a route for what is scheduled.
pub(crate) async fn open(database: &PostgresDatabase, options: PostgresOptions) -> PostgresStore {
    let options = options.connections(1).ensure_schema();
    let store = options.open_on(database).await.unwrap();
    routed(&store).await;
    store
}

/// The application's pool, of one connection, without TLS.
pub(crate) fn pool(database: &PostgresDatabase) -> Pool {
    let manager = Manager::new(reach::config(database), NoTls);
    Pool::builder(manager).max_size(1).build().unwrap()
}

pub(crate) async fn routed(store: &PostgresStore) {
    let (contract, handler_key) = ("pay".to_owned(), "charge".to_owned());
    let route = Route {
        contract,
        handler_key,
        supersedes: Vec::new(),
        context: String::new(),
        on_dead: OnDead::Block,
    };
    store.register_routes(vec![route], Now::OfStore).await.unwrap();
}

pub(crate) fn scheduler(store: &PostgresStore) -> Scheduler<PostgresStore> {
    Scheduler::new(Arc::new(store.clone()))
}

pub(crate) async fn schedule(store: &PostgresStore, id: u64) {
    scheduler(store).schedule(Pay { id }, ScheduleOptions::new()).await.unwrap();
}

/// All that is ready.
pub(crate) async fn lease(store: &PostgresStore) -> Vec<Lease> {
    let wanted = Wanted {
        handler_key: "charge".to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MAX,
        max_crashes: NonZeroU32::MIN,
        terms: Terms::default(),
    };
    let (host, duration) = ("host".to_owned(), HOLD);
    let request = LeaseRequest::new(host, duration, vec![wanted]);
    store.lease(request, Now::OfStore).await.unwrap()
}

/// The token of the one thing that is ready, held now.
pub(crate) async fn held(store: &PostgresStore) -> LeaseToken {
    schedule(store, 1).await;
    let leases = lease(store).await;
    assert_eq!(leases.len(), 1, "{leases:?}");
    leases[0].token
}

/// Ends every other connection to the database, as an administrator would. Behind a pooler it also waits
/// for their end: the pooler would give the next client one that is about to end, and the next one another.
pub(crate) async fn cut_all(client: &Client) -> i64 {
    let wait = if reach::is_pooled() { PATIENCE.as_millis() } else { 0 };
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid, {wait})) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()"
    );
    client.query_one(&cut, &[]).await.unwrap().get(0)
}

/// Asks until the server answers so; it says what its connections do only a moment later. The client must
/// be in no transaction: there, it would always see the same.
pub(crate) async fn until(client: &Client, question: &str) {
    let asking = async {
        while !client.query_one(question, &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let answered = tokio::time::timeout(PATIENCE, asking).await;
    answered.unwrap_or_else(|_| panic!("it is never so: {question}"));
}

/// Waits until so many wait for a lock.
pub(crate) async fn until_blocked(database: &PostgresDatabase, count: u32) {
    let client = database.connect().await.unwrap();
    let blocked = format!(
        "SELECT count(*) = {count} FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'"
    );
    until(&client, &blocked).await;
}

pub(crate) fn is_later(moment: Timestamp) -> bool {
    moment > Timestamp::now()
}

pub(crate) async fn heard(bell: &mut BellListener) {
    let heard = tokio::time::timeout(PATIENCE, bell.heard()).await;
    heard.unwrap_or_else(|_| panic!("the bell was not rung"));
}
