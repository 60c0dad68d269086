use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use inbox::store::{
    DeliveryState, HandlerTransaction, HandlerTransactions, Now, Settle, StateStore as _,
    StoreError, TransactionFuture, TransactionOutcome,
};
use inbox::{Inbox, Lend, MessageId, ScheduleOptions, State, Timestamp, handler, inbox_contract};
use inbox_tests::faulty::FaultyStore;
use serde::{Deserialize, Serialize};

use crate::kit::{self, Script, What, in_order};

#[inbox_contract(name = "step.booked", version = 1)]
#[derive(Serialize, Deserialize)]
struct BookedStep {
    number: usize,
}

struct Page;

impl Lend for Page {}

#[handler(key = "step.booked", retry(initial = "1h"))]
async fn booked(step: BookedStep, page: &mut Page, State(script): State<Script>) -> inbox::Outcome {
    let _ = page;
    script.run(step.number, What::Pass).await
}

/// Transactions of which one is not committed.
struct Pages {
    store: FaultyStore,
    commits: AtomicUsize,
    uncommitted: Uncommitted,
}

impl HandlerTransactions for Pages {
    fn provides(&self) -> TypeId {
        TypeId::of::<Page>()
    }

    fn begin(&self) -> TransactionFuture<'_, Result<HandlerTransaction, StoreError>> {
        Box::pin(async { Ok(Box::new(Page) as HandlerTransaction) })
    }

    fn commit(
        &self,
        _: HandlerTransaction,
        settles: Vec<Settle>,
        now: Now,
    ) -> TransactionFuture<'_, TransactionOutcome> {
        let commit = self.commits.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if let Some((_, outcome)) = self.uncommitted.filter(|(at, _)| *at == commit) {
                return outcome(settles[0].message_id);
            }
            let written = self.store.settle(settles, now).await.unwrap();
            TransactionOutcome::Committed(written.into_iter().map(Result::unwrap).collect())
        })
    }

    fn roll_back<'a>(
        &'a self,
        _: HandlerTransaction,
        _: Option<&'a (dyn std::error::Error + Send + Sync + 'static)>,
    ) -> TransactionFuture<'a, bool> {
        Box::pin(async { false })
    }
}

/// One of the commits, from 0, and what it comes to instead.
pub(crate) type Uncommitted = Option<(usize, fn(MessageId) -> TransactionOutcome)>;

/// The store with such transactions.
pub(crate) fn with_pages(store: FaultyStore, uncommitted: Uncommitted) -> FaultyStore {
    let pages = Pages { store: store.clone(), commits: AtomicUsize::new(0), uncommitted };
    store.with_transactions(Arc::new(pages))
}

/// An inbox with six steps, of which the third is too late.
async fn six(
    uncommitted: Uncommitted,
    script: &Script,
) -> (Inbox<FaultyStore>, FaultyStore, Vec<MessageId>) {
    let (inbox, store) = kit::inbox_with(script, uncommitted).await;
    let inbox = inbox.build().await.unwrap();
    let mut ids = Vec::new();
    for number in 0..6 {
        let options = match number {
            2 => ScheduleOptions::new().deliver_by(Timestamp::now() + Duration::from_secs(1)),
            _ => ScheduleOptions::new(),
        };
        let receipt = inbox.scheduler().schedule(BookedStep { number }, options).await.unwrap();
        ids.push(receipt.message_id());
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    (inbox, store, ids)
}

#[tokio::test(start_paused = true)]
async fn each_transaction_of_a_run_begins_when_all_before_is_written() {
    let script = Script::new();
    let (inbox, store, ids) = six(None, &script).await;
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.completed, report.expired), (5, 1));
    assert_eq!(script.began(), [0, 1, 3, 4, 5]);
    let mut states = [DeliveryState::Completed; 6];
    states[2] = DeliveryState::Expired;
    assert_eq!(in_order(&store, &ids), states);
    assert_eq!(store.writes().len(), 12, "each is written alone");
}

#[tokio::test(start_paused = true)]
async fn a_run_stops_at_a_transaction_that_was_not_committed() {
    let lost = |id| TransactionOutcome::LeaseLost(vec![id]);
    let unsure = |_| {
        let kind = inbox::store::StoreErrorKind::TimedOut;
        TransactionOutcome::Unsure(StoreError::new(kind, "nobody knows"))
    };
    for outcome in [lost as fn(MessageId) -> TransactionOutcome, unsure] {
        let script = Script::new();
        let (inbox, store, ids) = six(Some((1, outcome)), &script).await;
        inbox.process_some(6).await.unwrap();
        assert_eq!(script.began(), [0, 1]);
        let states = in_order(&store, &ids);
        assert_eq!(states[2..], [DeliveryState::Pending; 4]);
    }
}
