//! Workers learn what other connections commit, and leases are renewed whatever handlers hold up.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inbox::schedule::{ScheduleOptions, Scheduler};
use inbox::sqlite::rusqlite::{Connection, TransactionBehavior};
use inbox::sqlite::{SqliteStore, in_memory, open};
use inbox::store::{
    BellListener, LeaseRequest, LeaseStore as _, LeaseToken, Maintain as _, Now, OnDead, Route,
    StateStore as _, StoreError, StoreErrorKind, Terms, Wanted,
};
use inbox::{Timestamp, inbox_contract};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Nothing takes this long unless it never happens, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
}

fn scheduler(store: &SqliteStore) -> Scheduler<SqliteStore> {
    Scheduler::new(Arc::new(store.clone()))
}

async fn schedule(store: &SqliteStore, id: u64) {
    scheduler(store).schedule(Pay { id }, ScheduleOptions::new()).await.unwrap();
}

async fn heard(bell: &mut BellListener) {
    timeout(PATIENCE, bell.heard()).await.unwrap();
}

/// Begins to listen, and answers when the bell has been rung for that.
async fn listening(store: &SqliteStore) -> (JoinHandle<StoreError>, BellListener) {
    let mut bell = store.bell().unwrap().listener();
    let listening = store.listen().unwrap().await.unwrap();
    heard(&mut bell).await;
    (tokio::spawn(listening), bell)
}

async fn ended(listening: JoinHandle<StoreError>) {
    let error = timeout(PATIENCE, listening).await.unwrap().unwrap();
    assert_eq!(error.kind(), StoreErrorKind::Closed, "{error}");
}

fn file() -> (TempDir, impl AsRef<Path> + Clone) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("inbox.db");
    (directory, path)
}

#[tokio::test]
async fn what_another_process_accepts_is_heard() {
    let (_directory, path) = file();
    let (here, there) = (open(&path).await.unwrap(), open(&path).await.unwrap());
    let (listening, mut bell) = listening(&here).await;
    for id in 0..3 {
        schedule(&there, id).await;
        heard(&mut bell).await;
    }
    here.close().await;
    ended(listening).await;
}

#[tokio::test]
async fn what_a_transaction_of_the_callers_commits_is_heard() {
    let (_directory, path) = file();
    let store = open(&path).await.unwrap();
    let (_listening, mut bell) = listening(&store).await;
    let mut connection = Connection::open(&path).unwrap();
    for id in 0..3 {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let within = scheduler(&store).within(&transaction);
        within.schedule(Pay { id }, ScheduleOptions::new()).unwrap();
        transaction.commit().unwrap();
        heard(&mut bell).await;
    }
}

#[tokio::test]
async fn whoever_listens_does_not_keep_the_store_open() {
    let (_directory, path) = file();
    let store = open(&path).await.unwrap();
    let (listening, _bell) = listening(&store).await;
    drop(store);
    ended(listening).await;
}

#[tokio::test]
async fn memory_has_nobody_to_listen_to_and_rings_for_itself() {
    let store = in_memory().await.unwrap();
    assert!(store.listen().is_none());
    let mut bell = store.bell().unwrap().listener();
    schedule(&store, 1).await;
    heard(&mut bell).await;
}

#[tokio::test]
async fn what_a_worker_abandons_rings() {
    let store = in_memory().await.unwrap();
    let token = held(&store).await;
    let mut bell = store.bell().unwrap().listener();
    store.abandon(vec![token], Now::OfStore);
    heard(&mut bell).await;
}

#[tokio::test]
async fn a_store_says_whether_it_can_be_used() {
    let (_directory, path) = file();
    for store in [open(&path).await.unwrap(), in_memory().await.unwrap()] {
        store.check().await.unwrap();
        store.clone().close().await;
        assert_eq!(store.check().await.unwrap_err().kind(), StoreErrorKind::Closed);
    }
}

#[tokio::test]
async fn leases_are_renewed_apart_from_a_runtime_that_is_held_up() {
    let (_directory, path) = file();
    for store in [open(&path).await.unwrap(), in_memory().await.unwrap()] {
        let token = held(&store).await;
        assert!(store.renewer().is_none(), "its thread is its own");
        let apart = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let renewing = store.renew(vec![token], PATIENCE, Now::OfStore);
            runtime.unwrap().block_on(renewing).unwrap()
        });
        // The one thread of this runtime does nothing else meanwhile.
        let renewed = apart.join().unwrap();
        assert!(renewed[0].as_ref().unwrap().expires_at > Timestamp::now());
    }
}

/// The token of the one thing that is ready, held now.
async fn held(store: &SqliteStore) -> LeaseToken {
    let (contract, handler_key) = ("pay".to_owned(), "charge".to_owned());
    let route = Route {
        contract,
        handler_key: handler_key.clone(),
        supersedes: Vec::new(),
        context: String::new(),
        on_dead: OnDead::Block,
    };
    store.register_routes(vec![route], Now::OfStore).await.unwrap();
    schedule(store, 1).await;
    let (limit, max_crashes) = (NonZeroU32::MIN, NonZeroU32::MIN);
    let wanted =
        Wanted { handler_key, versions: vec![1], limit, max_crashes, terms: Terms::default() };
    let (host, duration, wanted, tenants) = ("host".to_owned(), PATIENCE, vec![wanted], None);
    let request = LeaseRequest { host, duration, wanted, tenants, quarantine: None, first: None };
    store.lease(request, Now::OfStore).await.unwrap()[0].token
}
