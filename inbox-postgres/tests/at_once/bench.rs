use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inbox::postgres::PostgresStore;
use inbox::settle::{DoneOutcome, Settlement};
use inbox::store::{
    DeliveryFilter, DeliveryState, Inspect as _, LaneFilter, LeaseRequest, LeaseStore as _,
    LeaseToken, Maintain as _, Now, OnDead, Settle, StateStore as _, StoreError, Terms, Wanted,
};
use inbox::{Inbox, MessageId, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};

use crate::reach::{self, PATIENCE};

#[inbox_contract(
    name = "pay",
    version = 1,
    ordering_key = "{lane}",
    concurrency_key = "{merchant}"
)]
#[derive(Serialize, Deserialize)]
pub(crate) struct Pay {
    pub(crate) lane: u32,
    pub(crate) merchant: u32,
}

#[handler(key = "ordered")]
async fn ordered(_command: Pay) {}

#[handler(key = "passing")]
async fn passing(_command: Pay) {}

#[handler(key = "limited")]
async fn limited(_command: Pay) {}

pub(crate) const HANDLERS: [&str; 3] = ["limited", "ordered", "passing"];

/// Two stores on one database, and what the tasks know together.
#[derive(Clone)]
pub(crate) struct Bench {
    database: Arc<PostgresDatabase>,
    pub(crate) inboxes: [Inbox<PostgresStore>; 2],
    pub(crate) messages: Arc<Mutex<Vec<MessageId>>>,
    /// Also those that are lost or settled already.
    pub(crate) held: Arc<Mutex<Vec<(LeaseToken, MessageId)>>>,
    trouble: Arc<Mutex<BTreeMap<String, usize>>>,
}

pub(crate) fn wanted(limit: u32) -> Vec<Wanted> {
    let terms = |key: &str| match key {
        "limited" => {
            let (fleet, per_key) = (NonZeroU32::new(3), NonZeroU32::new(1));
            Terms { fleet, per_key, ..Terms::default() }
        }
        "passing" => Terms { on_dead: OnDead::Skip, ..Terms::default() },
        _ => Terms::default(),
    };
    let wanted = |key: &str| Wanted {
        handler_key: key.to_owned(),
        versions: vec![1],
        limit: NonZeroU32::new(limit).unwrap(),
        max_crashes: NonZeroU32::new(3).unwrap(),
        terms: terms(key),
    };
    HANDLERS.map(wanted).into()
}

impl Bench {
    pub(crate) async fn open() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let open = async || {
            let options = reach::options().connections(6).ensure_schema();
            let store = options.open_config(database.config().clone()).await.unwrap();
            Inbox::builder(store).build().await.unwrap()
        };
        let inboxes = [open().await, open().await];
        let (messages, held, trouble) = (Arc::default(), Arc::default(), Arc::default());
        Self { database: Arc::new(database), inboxes, messages, held, trouble }
    }

    pub(crate) fn store(&self, task: u64) -> PostgresStore {
        PostgresStore::clone(self.inboxes[usize::from(task.is_multiple_of(2))].store())
    }

    /// The answer, or else its trouble is noted.
    pub(crate) fn noted<T>(&self, verb: &str, answer: Result<T, StoreError>) -> Option<T> {
        let note = |error: &StoreError| {
            let mut source: &dyn std::error::Error = error;
            while let Some(cause) = source.source() {
                source = cause;
            }
            let sentence = format!("{verb}: {:?}: {error}: {source}", error.kind());
            *self.trouble.lock().unwrap().entry(sentence).or_default() += 1;
        };
        answer.inspect_err(note).ok()
    }

    pub(crate) fn assert_untroubled(&self) {
        assert_eq!(*self.trouble.lock().unwrap(), BTreeMap::new());
    }

    /// Works everything off, without the help of what mends.
    pub(crate) async fn drain(&self) {
        let store = self.store(0);
        let now = Now::OfStore;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            store.promote(1_000, now).await.unwrap();
            store.reclaim(1_000, now).await.unwrap();
            let dead = DeliveryFilter::in_state(DeliveryState::Dead);
            for dead in store.list(dead).await.unwrap().deliveries {
                store.retry(dead.message_id, &dead.handler_key.unwrap(), now).await.unwrap();
            }
            let quarantine = NonZeroU32::new(50);
            let request = LeaseRequest::new("drain", Duration::from_hours(1), wanted(50));
            let request = LeaseRequest { quarantine, ..request };
            let mut settles = Vec::new();
            for lease in store.lease(request, now).await.unwrap() {
                let done = Settlement::Done(DoneOutcome::Completed);
                let settle = |delivery| Settle::new(lease.token, delivery, done.clone());
                settles.extend(lease.deliveries.iter().map(settle));
            }
            let is_idle = settles.is_empty();
            let answers = store.settle(settles, now).await.unwrap();
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            let counts = store.counts().await.unwrap();
            if counts
                .iter()
                .all(|count| count.state.is_terminal() && count.state != DeliveryState::Dead)
            {
                return;
            }
            if is_idle {
                // What was put off is due in a moment.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let counts = store.counts().await.unwrap();
        let lanes = store.lanes(LaneFilter::default()).await.unwrap();
        panic!("it does not drain: {counts:?}, {lanes:?}");
    }

    pub(crate) async fn assert_each_in_one_place(&self) {
        let client = self.database.connect().await.unwrap();
        let doubled =
            "SELECT message_id::text, handler_key, string_agg(state, ', ') FROM inbox.delivery
                       GROUP BY message_id, handler_key HAVING count(*) > 1";
        let doubled: Vec<_> = client.query(doubled, &[]).await.unwrap();
        assert!(doubled.is_empty(), "{doubled:?}");
        let all = client.query_one("SELECT count(*) FROM inbox.delivery", &[]).await.unwrap();
        let messages = self.messages.lock().unwrap().len();
        assert_eq!(usize::try_from(all.get::<_, i64>(0)).unwrap(), messages * HANDLERS.len());
    }

    /// Nobody holds a lane, and nothing had to be repaired.
    pub(crate) async fn assert_clean(&self) {
        let store = self.store(0);
        assert_eq!(store.mend(1_000, Now::OfStore).await.unwrap(), 0);
        assert_eq!(store.lanes(LaneFilter::default()).await.unwrap(), []);
    }
}
