//! Handlers that run in a transaction of their store, which settles their deliveries: the host then writes
//! nothing.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::any::TypeId;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox::hosting::{Event, Observer};
use inbox::settle::Settlement;
use inbox::sqlite::SqliteStore;
use inbox::store::{
    DeliveryState, HandlerTransaction, HandlerTransactions, Now, Settle, StateStore as _,
    StoreError, StoreErrorKind, TransactionFuture, TransactionOutcome,
};
use inbox::{Batch, Inbox, Lend, Outcome, ScheduleOptions, handler, inbox_contract};
use inbox_tests::faulty::{FaultyStore, Trouble, Verb};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[inbox_contract(name = "book", version = 1)]
#[derive(Serialize, Deserialize)]
struct Book {
    amount: i64,
}

struct Page(Vec<i64>);

impl Lend for Page {}

#[handler(key = "book", batch = 3, linger = "1m")]
async fn book(batch: Batch<Book>, page: &mut Page) -> Vec<Outcome> {
    let outcomes = batch.iter().map(|(_, book)| match book.amount {
        ..0 => Outcome::failed("overdrawn"),
        0 => Outcome::discard("nothing to book"),
        1.. => Outcome::Completed,
    });
    let outcomes = outcomes.collect();
    page.0.extend(batch.into_iter().map(|book| book.amount));
    outcomes
}

/// What a commit answers instead of settling, or a begin instead of beginning, so often.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    LosesOne(u32),
    Conflicts(u32),
    CannotBegin(u32),
}

struct Pages {
    store: SqliteStore,
    first: Mutex<First>,
    /// What was lent and came back, committed or not.
    seen: Mutex<Vec<Vec<i64>>>,
    /// What was committed, with what became of it.
    committed: Mutex<Vec<Settlement>>,
}

impl HandlerTransactions for Pages {
    fn provides(&self) -> TypeId {
        TypeId::of::<Page>()
    }

    fn begin(&self) -> TransactionFuture<'_, Result<HandlerTransaction, StoreError>> {
        if let First::CannotBegin(times @ 1..) = &mut *self.first.lock().unwrap() {
            *times -= 1;
            let error = StoreError::new(StoreErrorKind::CannotOpen, "starting up");
            return Box::pin(async { Err(error) });
        }
        Box::pin(async { Ok(Box::new(Page(Vec::new())) as HandlerTransaction) })
    }

    fn commit(
        &self,
        transaction: HandlerTransaction,
        settles: Vec<Settle>,
        now: Now,
    ) -> TransactionFuture<'_, TransactionOutcome> {
        self.seen.lock().unwrap().push(transaction.downcast::<Page>().unwrap().0);
        let mut plan = self.first.lock().unwrap();
        match &mut *plan {
            First::LosesOne(times @ 1..) => {
                *times -= 1;
                let message_ids = vec![settles[0].message_id];
                Box::pin(async { TransactionOutcome::LeaseLost(message_ids) })
            }
            First::Conflicts(times @ 1..) => {
                *times -= 1;
                let error = StoreError::new(StoreErrorKind::Busy, "in the way");
                Box::pin(async { TransactionOutcome::Conflict(error) })
            }
            _ => Box::pin(async move {
                let settlements = settles.iter().map(|one| one.settlement.clone());
                self.committed.lock().unwrap().extend(settlements);
                let written = self.store.settle(settles, now).await.unwrap();
                TransactionOutcome::Committed(written.into_iter().map(Result::unwrap).collect())
            }),
        }
    }

    fn roll_back<'a>(
        &'a self,
        _: HandlerTransaction,
        _: Option<&'a (dyn std::error::Error + Send + Sync + 'static)>,
    ) -> TransactionFuture<'a, bool> {
        Box::pin(async { false })
    }
}

async fn application(first: First) -> (Arc<Pages>, FaultyStore) {
    let store = FaultyStore::new().await.unwrap();
    let (first, seen, committed) = (Mutex::new(first), Mutex::default(), Mutex::default());
    let pages = Arc::new(Pages { store: store.store.clone(), first, seen, committed });
    let transactions: Arc<dyn HandlerTransactions> = Arc::clone(&pages) as _;
    let store = store.with_transactions(transactions);
    // Whoever settles beside the transaction is found out.
    store.trouble(Verb::Settle, Trouble::Fails(StoreErrorKind::Other), u32::MAX);
    (pages, store)
}

async fn schedule(inbox: &Inbox<FaultyStore>) {
    for amount in 1..=3 {
        inbox.scheduler().schedule(Book { amount }, ScheduleOptions::new()).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_not_lost_with_another_is_given_back_and_tried_again() {
    let (pages, store) = application(First::LosesOne(1)).await;
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    schedule(&inbox).await;
    store.heal();
    let report = inbox.process_pending().await.unwrap();
    // The store knows better than the transaction said: none was lost.
    assert_eq!((report.leased, report.completed, report.released), (6, 3, 3), "{report:?}");
    assert_eq!(*pages.seen.lock().unwrap(), [vec![1, 2, 3], vec![1, 2, 3]]);
}

#[tokio::test]
async fn an_outcome_is_committed_with_what_the_handler_wrote_whatever_it_is() {
    let (pages, store) = application(First::Conflicts(0)).await;
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    for amount in [1, -1, 0] {
        inbox.scheduler().schedule(Book { amount }, ScheduleOptions::new()).await.unwrap();
    }
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.completed, report.retried, report.discarded), (1, 1, 1), "{report:?}");
    let states: Vec<_> = pages.committed.lock().unwrap().iter().map(Settlement::state).collect();
    let expected = [DeliveryState::Completed, DeliveryState::Waiting, DeliveryState::Discarded];
    assert_eq!((states, store.met()), (expected.to_vec(), 0));
}

#[tokio::test]
async fn what_may_pass_begins_again_within_the_attempt_but_not_for_ever() {
    let (pages, store) = application(First::Conflicts(4)).await;
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    schedule(&inbox).await;
    assert_eq!(inbox.process_pending().await.unwrap().completed, 3);
    assert_eq!((pages.seen.lock().unwrap().len(), store.met()), (5, 0));

    let (pages, store) = application(First::Conflicts(5)).await;
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    schedule(&inbox).await;
    store.heal();
    assert_eq!(inbox.process_pending().await.unwrap().retried, 3);
    assert_eq!(pages.seen.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a_transaction_that_cannot_be_begun_costs_no_attempt() {
    let (pages, store) = application(First::CannotBegin(7)).await;
    let inbox = Inbox::builder(store.clone()).max_attempts(1).build().await.unwrap();
    schedule(&inbox).await;
    store.heal();
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.released, report.completed, report.dead), (3, 3, 0), "{report:?}");
    assert_eq!(*pages.seen.lock().unwrap(), [vec![1, 2, 3]], "the handler ran once");
    assert!(pages.first.lock().unwrap().eq(&First::CannotBegin(0)));
}

#[tokio::test]
async fn a_host_writes_nothing_and_tells_of_everything() {
    struct Told(UnboundedSender<Option<DeliveryState>>);

    impl Observer for Told {
        fn notice(&self, event: &Event) {
            let state = match event {
                Event::Settled { state, .. } => Some(*state),
                Event::LeaseLost(_) => None,
                _ => return,
            };
            // The test may be over.
            let _ = self.0.send(state);
        }
    }

    let (pages, store) = application(First::Conflicts(1)).await;
    let (told, mut hears) = unbounded_channel();
    let builder = Inbox::builder(store.clone()).observer(Told(told));
    let inbox = builder.build().await.unwrap();
    schedule(&inbox).await;
    let host = inbox.start().unwrap();
    let mut states = Vec::new();
    for _ in 0..3 {
        states.push(hears.recv().await.unwrap());
    }
    assert_eq!(states, [Some(DeliveryState::Completed); 3]);
    assert_eq!(*pages.seen.lock().unwrap(), [vec![1, 2, 3], vec![1, 2, 3]]);
    let report = host.shutdown(Duration::from_secs(10)).await;
    assert_eq!((report.released, report.left), (0, 0), "nothing is left to write");
    assert_eq!(store.met(), 0);
}
