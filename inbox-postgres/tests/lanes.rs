//! Rows that someone removed by hand: a host that comes mends what they leave behind.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::num::NonZeroU32;
use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::schedule::ScheduleOptions;
use inbox::settle::{DoneOutcome, Settlement};
use inbox::store::{
    LaneFilter, Lease, LeaseRequest, LeaseStore as _, Now, Settle, StateStore as _, Terms, Wanted,
};
use inbox::{Inbox, State, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::PATIENCE;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[inbox_contract(name = "step", version = 1, ordering_key = "{lane}")]
#[derive(Serialize, Deserialize)]
struct Step {
    number: u32,
    lane: String,
}

#[handler(key = "step")]
async fn step(command: Step, State(seen): State<UnboundedSender<u32>>) {
    seen.send(command.number).unwrap();
}

#[inbox_contract(name = "single", version = 1, concurrency_key = "{key}")]
#[derive(Serialize, Deserialize)]
struct Single {
    number: u32,
    key: String,
}

#[handler(key = "single", concurrency(fleet = 1, per_key = 1))]
async fn single(command: Single, State(seen): State<UnboundedSender<u32>>) {
    seen.send(command.number).unwrap();
}

struct Bench {
    database: PostgresDatabase,
    inbox: Inbox<PostgresStore>,
    seen: UnboundedReceiver<u32>,
}

impl Bench {
    async fn new() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let options = reach::options().connections(4).ensure_schema();
        let store = options.open_config(database.config().clone()).await.unwrap();
        let (sender, seen) = unbounded_channel();
        let inbox = Inbox::builder(store).state(sender).build().await.unwrap();
        Self { database, inbox, seen }
    }

    async fn steps(&self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let step = Step { number, lane: "a".to_owned() };
            self.inbox.scheduler().schedule(step, ScheduleOptions::new()).await.unwrap();
        }
    }

    async fn singles(&self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let single = Single { number, key: "a".to_owned() };
            self.inbox.scheduler().schedule(single, ScheduleOptions::new()).await.unwrap();
        }
    }

    /// What a worker leases that no host of the test knows; whatever else it could have has to wait now.
    async fn lease(&self, handler_key: &str) -> Lease {
        let one = NonZeroU32::new(u32::from(handler_key == "single"));
        let wanted = Wanted {
            handler_key: handler_key.to_owned(),
            versions: vec![1],
            limit: NonZeroU32::new(10).unwrap(),
            max_crashes: NonZeroU32::MIN,
            terms: Terms { fleet: one, per_key: one, ..Terms::default() },
        };
        let (host, duration) = ("gone".to_owned(), Duration::from_hours(1));
        let request = LeaseRequest::new(host, duration, vec![wanted]);
        let mut leases = self.inbox.store().lease(request, Now::OfStore).await.unwrap();
        assert_eq!((leases.len(), leases[0].deliveries.len()), (1, 1));
        leases.remove(0)
    }

    async fn by_hand(&self, sql: &str) {
        let changed = self.database.connect().await.unwrap().execute(sql, &[]).await.unwrap();
        assert!(changed > 0, "`{sql}` finds something");
    }

    /// Lets a host work until it has handled so many, and answers which, in order.
    async fn work(&mut self, count: usize) -> Vec<u32> {
        let host = self.inbox.start().unwrap();
        let mut seen = Vec::new();
        while seen.len() < count {
            seen.push(self.seen.recv().await.unwrap());
        }
        host.shutdown(PATIENCE).await;
        assert_eq!(self.seen.try_recv().ok(), None, "no more than {seen:?}");
        seen
    }

    /// Nothing is left that could hold up what comes.
    async fn assert_clean(&self) {
        let lanes = self.inbox.lanes(LaneFilter::default()).await.unwrap();
        assert_eq!(lanes, []);
        let left = "SELECT (SELECT count(*) FROM inbox.held) + (SELECT count(*) FROM inbox.ready)
                         + (SELECT count(*) FROM inbox.waiting)";
        let client = self.database.connect().await.unwrap();
        assert_eq!(client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
    }
}

#[tokio::test]
async fn a_lane_whose_head_is_nowhere_goes_on_with_the_next() {
    let mut bench = Bench::new().await;
    bench.steps(1..=4).await;
    bench.lease("step").await;
    bench.by_hand("DELETE FROM inbox.held").await;
    bench.steps(5..=5).await;
    assert_eq!(bench.work(4).await, [2, 3, 4, 5]);
    bench.assert_clean().await;
}

#[tokio::test]
async fn a_lane_whose_waiting_head_was_removed_goes_on_with_the_next() {
    let mut bench = Bench::new().await;
    bench.steps(1..=3).await;
    let held = bench.lease("step").await;
    let error = inbox::settle::ErrorReport::new("test", "later");
    let retry = Settlement::Retry { after: Duration::from_mins(10), error };
    settle(&bench, &held, retry).await;
    bench.by_hand("DELETE FROM inbox.waiting WHERE reason = 'retry'").await;
    assert_eq!(bench.work(2).await, [2, 3]);
    bench.assert_clean().await;
}

#[tokio::test]
async fn what_waits_behind_a_lane_that_was_removed_has_its_turn_in_order() {
    let mut bench = Bench::new().await;
    bench.steps(1..=4).await;
    let held = bench.lease("step").await;
    bench.by_hand("DELETE FROM inbox.lane").await;
    settle(&bench, &held, Settlement::Done(DoneOutcome::Completed)).await;
    // It is ready, and does not overtake those that wait.
    bench.steps(5..=5).await;
    assert_eq!(bench.work(4).await, [2, 3, 4, 5]);
    bench.assert_clean().await;
}

#[tokio::test]
async fn what_waits_for_a_limit_behind_one_that_was_removed_has_its_chance() {
    let mut bench = Bench::new().await;
    bench.singles(1..=4).await;
    bench.lease("single").await;
    bench.by_hand("DELETE FROM inbox.held").await;
    let mut seen = bench.work(3).await;
    seen.sort_unstable();
    assert_eq!(seen, [2, 3, 4]);
    bench.assert_clean().await;
}

#[tokio::test]
async fn what_is_held_under_a_lease_that_was_removed_comes_back() {
    let mut bench = Bench::new().await;
    bench.steps(1..=3).await;
    bench.lease("step").await;
    bench.by_hand("DELETE FROM inbox.lease").await;
    assert_eq!(bench.work(3).await, [1, 2, 3]);
    bench.assert_clean().await;
}

async fn settle(bench: &Bench, held: &Lease, settlement: Settlement) {
    let message_id = held.deliveries[0].message.id;
    let settle = Settle::by_id(held.token, message_id, settlement);
    let answers = bench.inbox.store().settle(vec![settle], Now::OfStore).await.unwrap();
    assert!(answers[0].is_ok(), "{answers:?}");
}
