//! Handlers that run in a unit of their store, which settles their deliveries: passes and hosts then write
//! nothing.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::any::TypeId;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox::dispatch::{Ended, HeldLeases, Unit, UnitFuture};
use inbox::hosting::{Event, Observer};
use inbox::settle::{DoneOutcome, Settlement};
use inbox::sqlite::SqliteStore;
use inbox::store::{DeliveryState, Now, Settle, StateStore as _, StoreError, StoreErrorKind};
use inbox::{Batch, HandlerError, Inbox, Lend, Request, ScheduleOptions, handler, inbox_contract};
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
async fn book(batch: Batch<Book>, page: &mut Page) {
    page.0.extend(batch.into_iter().map(|book| book.amount));
}

/// What a unit answers instead of settling, so often.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    LosesOne(u32),
    BeginsAgain(u32),
}

struct Pages {
    store: SqliteStore,
    first: Mutex<First>,
    /// What was lent and came back, committed or not.
    seen: Mutex<Vec<Vec<i64>>>,
}

impl Pages {
    async fn settle(&self, request: &Request) -> Ended {
        let leases: HeldLeases = request.extension().unwrap();
        let settles = request.deliveries().map(|delivery| Settle {
            token: leases.of(delivery.message.id).unwrap().token(),
            message_id: delivery.message.id,
            settlement: Settlement::Done(DoneOutcome::Completed),
        });
        let written = self.store.settle(settles.collect(), Now::OfStore).await.unwrap();
        assert!(written.iter().all(Result::is_ok));
        Ended::Settled
    }
}

impl Unit for Pages {
    fn lends(&self) -> TypeId {
        TypeId::of::<Page>()
    }

    fn begin<'a>(&'a self, request: &'a Request) -> UnitFuture<'a, Result<(), StoreError>> {
        request.lend(Page(Vec::new()));
        Box::pin(async { Ok(()) })
    }

    fn end<'a>(
        &'a self,
        request: &'a Request,
        run: Result<(), HandlerError>,
    ) -> UnitFuture<'a, Ended> {
        run.unwrap();
        self.seen.lock().unwrap().push(request.reclaim::<Page>().unwrap().0);
        let mut first = self.first.lock().unwrap();
        match &mut *first {
            First::LosesOne(times @ 1..) => {
                *times -= 1;
                let message_ids = vec![request.delivery().message.id];
                Box::pin(async { Ended::Failed(HandlerError::LeaseLost { message_ids }) })
            }
            First::BeginsAgain(times @ 1..) => {
                *times -= 1;
                let error = HandlerError::Layer("in the way".into());
                Box::pin(async { Ended::Again(error) })
            }
            _ => Box::pin(self.settle(request)),
        }
    }
}

async fn application(first: First) -> (Arc<Pages>, FaultyStore) {
    let store = FaultyStore::new().await.unwrap();
    let (first, seen) = (Mutex::new(first), Mutex::default());
    let pages = Arc::new(Pages { store: store.store.clone(), first, seen });
    let unit: Arc<dyn Unit> = Arc::clone(&pages) as _;
    let store = store.with_unit(unit);
    // Whoever settles beside the unit is found out.
    store.trouble(Verb::Settle, Trouble::Fails(StoreErrorKind::Other), u32::MAX);
    (pages, store)
}

async fn schedule(inbox: &Inbox<FaultyStore>) {
    for amount in 1..=3 {
        inbox.scheduler().schedule(Book { amount }, ScheduleOptions::new()).await.unwrap();
    }
}

#[tokio::test]
async fn a_pass_writes_nothing_and_tries_again_what_was_not_lost_with_another() {
    let (pages, store) = application(First::LosesOne(1)).await;
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    schedule(&inbox).await;
    let report = inbox.process_pending().await.unwrap();
    assert_eq!((report.leased, report.completed, report.skipped), (3, 2, 1), "{report:?}");
    assert_eq!(*pages.seen.lock().unwrap(), [vec![1, 2, 3], vec![2, 3]]);
    assert_eq!(store.met(), 0);
}

#[tokio::test]
async fn what_may_pass_begins_again_within_the_attempt_but_not_for_ever() {
    let (pages, store) = application(First::BeginsAgain(4)).await;
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    schedule(&inbox).await;
    assert_eq!(inbox.process_pending().await.unwrap().completed, 3);
    assert_eq!((pages.seen.lock().unwrap().len(), store.met()), (5, 0));

    let (pages, store) = application(First::BeginsAgain(5)).await;
    let inbox = Inbox::builder(store.clone()).build().await.unwrap();
    schedule(&inbox).await;
    store.heal();
    assert_eq!(inbox.process_pending().await.unwrap().retried, 3);
    assert_eq!(pages.seen.lock().unwrap().len(), 5);
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

    let (pages, store) = application(First::LosesOne(1)).await;
    let (told, mut hears) = unbounded_channel();
    let builder = Inbox::builder(store.clone()).observer(Told(told));
    let inbox = builder.build().await.unwrap();
    schedule(&inbox).await;
    let host = inbox.start().unwrap();
    let mut states = Vec::new();
    for _ in 0..3 {
        states.push(hears.recv().await.unwrap());
    }
    states.sort_by_key(Option::is_some);
    let completed = Some(DeliveryState::Completed);
    assert_eq!(states, [None, completed, completed]);
    assert_eq!(*pages.seen.lock().unwrap(), [vec![1, 2, 3], vec![2, 3]]);
    let report = host.shutdown(Duration::from_secs(10)).await;
    assert_eq!((report.released, report.left), (0, 0), "nothing is left to write");
    assert_eq!(store.met(), 0);
}
