//! Answers that never arrive: what was asked may have been done, and is neither lost nor done twice.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::{Acceptance, ScheduleError, ScheduleOptions};
use inbox::store::{
    DeliveryState, Inspect as _, Lease, LeaseRequest, LeaseStore as _, Now, StoreError,
    StoreErrorKind, Terms, Wanted,
};
use inbox::{Inbox, State, handler, inbox_contract};
use inbox_testing::fault::{Fault, FaultProxy};
use inbox_testing::postgres::PostgresDatabase;
use reach::{Reach as _, at_last};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
    outcome: Outcome,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
enum Outcome {
    Succeeds,
    IsRetried,
    IsGivenUp,
}

#[derive(Clone)]
struct Network {
    proxy: Arc<FaultProxy>,
    runs: Arc<AtomicU32>,
}

/// What is sent next is the settlement of this very run, and its answer is lost; but for the first,
/// which sees that the statements are prepared.
#[handler(key = "pay", max_attempts = 2, retry(initial = "1h"))]
async fn pay(command: Pay, State(network): State<Network>) -> Result<(), String> {
    network.runs.fetch_add(1, Ordering::SeqCst);
    if command.id > 0 {
        network.proxy.lose_next_reply();
    }
    match command.outcome {
        Outcome::Succeeds => Ok(()),
        Outcome::IsRetried => Err("not yet".to_owned()),
        Outcome::IsGivenUp => panic!("never"),
    }
}

async fn open(config: &inbox::postgres::tokio_postgres::Config) -> PostgresStore {
    // Nothing is sent but what a test asks for.
    let options = reach::options().connections(1).without_notify();
    options.ensure_schema().reaching().open_config(config.clone()).await.unwrap()
}

async fn application() -> (PostgresDatabase, Network, Inbox<PostgresStore>) {
    let database = PostgresDatabase::create().await.unwrap();
    let proxy = Arc::new(FaultProxy::before(&reach::config(&database)).await.unwrap());
    let store = open(proxy.config()).await;
    let network = Network { proxy, runs: Arc::default() };
    let inbox = Inbox::builder(store).state(network.clone()).build().await.unwrap();
    (database, network, inbox)
}

fn payment(id: u64, outcome: Outcome) -> (Pay, ScheduleOptions) {
    (Pay { id, outcome }, ScheduleOptions::new())
}

#[tokio::test]
async fn a_settlement_whose_answer_is_lost_is_looked_up_and_counted_once() {
    for (outcome, state) in [
        (Outcome::Succeeds, DeliveryState::Completed),
        (Outcome::IsRetried, DeliveryState::Waiting),
        (Outcome::IsGivenUp, DeliveryState::Waiting),
    ] {
        let (_database, network, inbox) = application().await;
        let mut receipts = Vec::new();
        for id in 0..2 {
            let (command, options) = payment(id, outcome);
            receipts.push(inbox.scheduler().schedule(command, options).await.unwrap());
            let report = inbox.process_pending().await.unwrap();
            assert_eq!(network.proxy.lost(), id);
            assert_eq!((report.completed + report.retried, report.lost), (1, 0), "{report:?}");
        }
        assert_eq!(network.runs.load(Ordering::SeqCst), 2);
        let status = inbox.status(receipts[1].message_id()).await.unwrap().unwrap();
        assert_eq!((status.deliveries[0].state, status.deliveries[0].attempts), (state, 1));
        assert_eq!(status.attempts.len(), usize::from(state == DeliveryState::Waiting));
    }
}

#[tokio::test]
async fn an_acceptance_whose_answer_is_lost_is_told_as_unknown_and_recognised_the_next_time() {
    let (_database, network, inbox) = application().await;
    let (command, options) = payment(0, Outcome::Succeeds);
    inbox.scheduler().schedule(command, options).await.unwrap();
    network.proxy.lose_next_reply();
    let (command, options) = payment(1, Outcome::Succeeds);
    let error = inbox.scheduler().schedule(command, options).await.unwrap_err();
    let ScheduleError::Store(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error}");
    let (command, options) = payment(1, Outcome::Succeeds);
    let receipt = inbox.scheduler().schedule(command, options).await.unwrap();
    assert_eq!(receipt.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    assert_eq!(inbox.store().counts().await.unwrap()[0].count, 2);
}

#[tokio::test]
async fn a_batch_whose_commit_is_not_answered_is_there_entirely() {
    let (_database, network, inbox) = application().await;
    // With the end of its text, so that READ COMMITTED is not meant.
    network.proxy.lose_reply_to("COMMIT\0");
    let commands = || (0..3).map(|id| payment(id, Outcome::Succeeds));
    let error = inbox.scheduler().schedule_all(commands()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error}");
    let again = inbox.scheduler().schedule_all(commands()).await.unwrap();
    for receipt in again {
        let acceptance = receipt.unwrap().acceptance();
        assert_eq!(acceptance, Acceptance::AlreadyAccepted { payload_matches: true });
    }
    assert_eq!(inbox.store().counts().await.unwrap()[0].count, 3);
}

async fn lease(store: &PostgresStore) -> Result<Vec<Lease>, StoreError> {
    let wanted = Wanted {
        handler_key: "pay".to_owned(),
        versions: vec![1],
        limit: NonZeroU32::new(7).unwrap(),
        max_crashes: NonZeroU32::new(3).unwrap(),
        terms: Terms::default(),
    };
    let (host, duration) = ("host".to_owned(), Duration::from_hours(1));
    store.lease(LeaseRequest::new(host, duration, vec![wanted]), Now::OfStore).await
}

#[tokio::test]
async fn what_was_claimed_without_an_answer_is_given_back_and_not_kept_until_it_expires() {
    let (database, network, inbox) = application().await;
    let commands = (0..3).map(|id| payment(id, Outcome::Succeeds));
    inbox.scheduler().schedule_all(commands).await.unwrap();
    // A claim for seven is the only thing that is asked with this number, as eight bytes.
    network.proxy.lose_reply_to("\0\0\0\u{8}\0\0\0\0\0\0\0\u{7}");
    let error = lease(inbox.store()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TimedOut, "{error}");
    assert_eq!(network.proxy.lost(), 1);
    let other = open(&reach::config(&database)).await;
    // An hour is too long to wait for.
    let held = loop {
        let held = lease(&other).await.unwrap();
        if !held.is_empty() {
            break held;
        }
        tokio::task::yield_now().await;
    };
    let attempts: Vec<_> = held[0].deliveries.iter().map(|delivery| delivery.attempt).collect();
    assert_eq!(attempts, [1, 1, 1], "nothing was counted");
}

#[tokio::test]
async fn a_network_that_swallows_everything_is_noticed_and_survived() {
    for fault in [Fault::BlackHole, Fault::HalfOpen, Fault::Reset] {
        let database = PostgresDatabase::create().await.unwrap();
        let proxy = FaultProxy::before(&reach::config(&database)).await.unwrap();
        open(&reach::config(&database)).await.close().await;
        let options = PostgresOptions::new().connections(1).call_timeout(Duration::from_secs(1));
        let (options, config) = (options.reaching(), proxy.config());
        let store = at_last(async || options.clone().open_config(config.clone()).await).await;
        proxy.set(fault);
        for _ in 0..3 {
            let error = store.counts().await.unwrap_err();
            assert!(error.is_transient(), "{fault:?}: {error}");
        }
        proxy.heal();
        // At the latest when it was noticed that the old connection is of no use.
        assert_eq!(at_last(async || store.counts().await).await, []);
        proxy.set(Fault::Delay(Duration::from_millis(1)));
        assert_eq!(at_last(async || store.counts().await).await, [], "slow, and right");
    }
}
