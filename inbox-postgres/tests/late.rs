//! Deliveries of a lane that become visible after younger ones: their transaction was open for longer, or their
//! contract had no route. Each has its turn in its place, and nothing is left for `mend`.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use inbox::MessageId;
use inbox::postgres::PostgresStore;
use inbox::postgres::tokio_postgres::Client;
use inbox::settle::{DoneOutcome, ErrorReport, Settlement};
use inbox::store::{
    DeliveryState, Inspect as _, LaneFilter, LeaseRequest, LeaseStore as _, LeaseToken,
    Maintain as _, Now, OnDead, Route, Settle, StateStore as _, Terms, Wanted,
};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;

const DONE: Settlement = Settlement::Done(DoneOutcome::Completed);

struct Held {
    token: LeaseToken,
    id: MessageId,
}

/// A store, and an application that schedules in SQL, each message in a transaction of its own.
struct Bench {
    database: PostgresDatabase,
    store: PostgresStore,
    client: Client,
}

impl Bench {
    async fn new() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let store = reach::options().connections(4).ensure_schema();
        let store = store.open_on(&database).await.unwrap();
        let client = database.connect().await.unwrap();
        Self { database, store, client }
    }

    async fn registered() -> Self {
        let bench = Self::new().await;
        bench.register().await;
        bench
    }

    async fn register(&self) {
        let route = Route {
            contract: "pay".to_owned(),
            handler_key: "charge".to_owned(),
            supersedes: Vec::new(),
            context: String::new(),
            on_dead: OnDead::Block,
        };
        self.store.register_routes(vec![route], Now::OfStore).await.unwrap();
    }

    /// A transaction that has begun to write.
    async fn begin(&self) -> Client {
        let client = self.database.connect().await.unwrap();
        client.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
        client
    }

    async fn schedule(&self, count: usize) -> Vec<MessageId> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(schedule(&self.client, 1).await);
        }
        all
    }

    /// What a worker that has just started is given: one that knows of no earlier claim looks at all there is.
    async fn claim(&self, version: u32) -> Option<Held> {
        let store = reach::options().connections(1).open_on(&self.database).await.unwrap();
        let wanted = Wanted {
            handler_key: "charge".to_owned(),
            versions: vec![version],
            limit: NonZeroU32::MIN,
            max_crashes: NonZeroU32::MIN,
            terms: Terms::default(),
        };
        let request = LeaseRequest::new("host", Duration::from_hours(1), vec![wanted]);
        let leases = store.lease(request, Now::OfStore).await.unwrap();
        leases.first().map(|one| Held { token: one.token, id: one.deliveries[0].message.id })
    }

    async fn settle(&self, held: Held, settlement: Settlement) {
        let settle = Settle::by_id(held.token, held.id, settlement);
        let mut answers = self.store.settle(vec![settle], Now::OfStore).await.unwrap();
        answers.remove(0).unwrap();
    }

    /// The next one, which is done then.
    async fn next(&self) -> Option<MessageId> {
        let held = self.claim(1).await?;
        let id = held.id;
        self.settle(held, DONE).await;
        Some(id)
    }

    /// Exactly these are left, in this order.
    async fn assert_left(&self, expected: &[MessageId]) {
        let mut run = Vec::new();
        while let Some(id) = self.next().await {
            run.push(id);
        }
        assert_eq!(run, expected);
        assert_eq!(self.store.mend(10, Now::OfStore).await.unwrap(), 0, "nothing was left behind");
        assert_eq!(self.store.lanes(LaneFilter::default()).await.unwrap(), []);
        let left = "SELECT (SELECT count(*) FROM inbox.held) + (SELECT count(*) FROM inbox.ready)
                         + (SELECT count(*) FROM inbox.waiting)";
        assert_eq!(self.client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
    }

    async fn until_waiting(&self, count: i64) {
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while self.client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < count {
            tokio::task::yield_now().await;
        }
    }
}

/// Schedules one of the lane.
async fn schedule(client: &Client, version: i32) -> MessageId {
    let sql = "SELECT message_id::text
               FROM inbox.schedule('pay', $1, 'null', ordering_key => 'a')";
    client.query_one(sql, &[&version]).await.unwrap().get::<_, &str>(0).parse().unwrap()
}

async fn commit(client: &Client) {
    client.batch_execute("COMMIT").await.unwrap();
}

/// Several are handed on while the transaction of `late` is open, and then it commits.
async fn goes_before_what_is_left(bench: &Bench, open: &Client, late: MessageId) {
    let mut queue = VecDeque::new();
    let first = bench.claim(1).await.unwrap();
    queue.extend(bench.schedule(2).await);
    bench.settle(first, DONE).await;
    for _ in 0..5 {
        queue.extend(bench.schedule(1).await);
        assert_eq!(bench.next().await, queue.pop_front());
    }
    commit(open).await;
    queue.push_front(late);
    queue.extend(bench.schedule(2).await);
    bench.assert_left(queue.make_contiguous()).await;
}

#[tokio::test]
async fn a_transaction_that_was_open_while_its_lane_went_on_has_its_turn_in_its_place() {
    let bench = Bench::registered().await;
    let first = bench.schedule(1).await;
    let held = bench.claim(1).await.unwrap();
    assert_eq!(held.id, first[0]);
    // One that began before it comes after it.
    let early = bench.begin().await;
    let open = bench.begin().await;
    let late = schedule(&open, 1).await;
    schedule(&early, 1).await;
    commit(&early).await;
    bench.settle(held, DONE).await;
    goes_before_what_is_left(&bench, &open, late).await;
}

#[tokio::test]
async fn a_transaction_that_is_open_for_many_runs_has_its_turn_in_its_place() {
    let bench = Bench::registered().await;
    bench.schedule(1).await;
    let open = bench.begin().await;
    let late = schedule(&open, 1).await;
    goes_before_what_is_left(&bench, &open, late).await;
}

#[tokio::test]
async fn a_transaction_that_began_while_a_run_was_settled_has_its_turn_in_its_place() {
    let bench = Bench::registered().await;
    let first = bench.schedule(1).await;
    let held = bench.claim(1).await.unwrap();
    assert_eq!(held.id, first[0]);
    // The settlement has its lane, and not yet its delivery.
    let holder = bench.begin().await;
    holder.batch_execute("SELECT 1 FROM inbox.held FOR UPDATE").await.unwrap();
    let settling = tokio::spawn({
        let (store, settle) = (bench.store.clone(), Settle::by_id(held.token, held.id, DONE));
        async move { store.settle(vec![settle], Now::OfStore).await }
    });
    bench.until_waiting(1).await;
    let open = bench.begin().await;
    let late = schedule(&open, 1).await;
    bench.schedule(1).await;
    commit(&holder).await;
    assert_eq!(settling.await.unwrap().unwrap(), [Ok(DeliveryState::Completed)]);
    goes_before_what_is_left(&bench, &open, late).await;
}

#[tokio::test]
async fn what_is_routed_after_its_lane_went_on_has_its_turn_in_its_place() {
    let bench = Bench::new().await;
    let open = bench.begin().await;
    let late = schedule(&open, 1).await;
    bench.register().await;
    let all = bench.schedule(8).await;
    for expected in &all[..3] {
        assert_eq!(bench.next().await, Some(*expected));
    }
    commit(&open).await;
    // It waits for its route, which nobody looks for yet.
    for expected in &all[3..6] {
        assert_eq!(bench.next().await, Some(*expected));
    }
    assert_eq!(bench.store.route(10, Now::OfStore).await.unwrap(), 1);
    bench.assert_left(&[late, all[6], all[7]]).await;
}

#[tokio::test]
async fn one_behind_its_lane_that_comes_first_and_is_not_read_here_is_found_by_who_reads_it() {
    let bench = Bench::registered().await;
    let open = bench.begin().await;
    let late = schedule(&open, 2).await;
    let first = bench.schedule(1).await[0];
    let held = bench.claim(1).await.unwrap();
    assert_eq!(held.id, first);
    let error = ErrorReport::new("test", "later");
    bench.settle(held, Settlement::Retry { after: Duration::ZERO, error }).await;
    commit(&open).await;
    assert!(bench.claim(2).await.is_none(), "the head waits for its retry");
    let reason = "SELECT reason FROM inbox.waiting WHERE version = 2";
    let reason = bench.client.query_one(reason, &[]).await.unwrap();
    assert_eq!(reason.get::<_, &str>(0), "lane", "it was moved behind the head");
    assert_eq!(bench.store.promote(10, Now::OfStore).await.unwrap(), 1);
    assert!(bench.claim(1).await.is_none(), "the oldest comes first");
    let held = bench.claim(2).await.expect("the oldest is ready");
    assert_eq!(held.id, late);
    bench.settle(held, DONE).await;
    bench.assert_left(&[first]).await;
}
