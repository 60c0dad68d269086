use std::num::NonZeroU32;
use std::time::Duration;

use inbox::MessageId;
use inbox::postgres::PostgresStore;
use inbox::postgres::tokio_postgres::Client;
use inbox::settle::{DoneOutcome, Settlement};
use inbox::store::{
    Inspect as _, LaneFilter, LeaseRequest, LeaseStore as _, LeaseToken, Maintain as _, Now,
    OnDead, Route, Runs, Settle, StateStore as _, Terms, Wanted,
};
use inbox_testing::postgres::PostgresDatabase;
use tokio::task::JoinHandle;

use crate::reach::{self, Reach as _};

/// Whoever changes a lane waits at the end of that statement while the barrier is down.
const BARRIER: &str = "
    CREATE FUNCTION barrier() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock_shared(1);
        RETURN NULL;
    END $$;
    CREATE TRIGGER barrier AFTER INSERT OR UPDATE OR DELETE ON inbox.lane
        FOR EACH ROW EXECUTE FUNCTION barrier()";

/// The first that is about to change rows of lanes waits, when it has seen what is there.
const BEFORE_A_CHANGE: &str = "
    CREATE SEQUENCE turn;
    CREATE FUNCTION before_a_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('turn') = 1 THEN
            PERFORM pg_advisory_xact_lock_shared(2);
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER before_a_change BEFORE UPDATE ON inbox.lane
        FOR EACH STATEMENT EXECUTE FUNCTION before_a_change()";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    token: LeaseToken,
    pub(crate) id: MessageId,
}

pub(crate) fn ids(held: &[Held]) -> Vec<MessageId> {
    held.iter().map(|held| held.id).collect()
}

/// A process that claims and settles.
#[derive(Clone)]
pub(crate) struct Worker(PostgresStore);

impl Worker {
    /// A run of each of so many lanes, so long at most.
    pub(crate) async fn claim(&self, lanes: u32, length: u32) -> Vec<Held> {
        let some = |count| NonZeroU32::new(count).unwrap();
        let runs = Runs { lanes: some(lanes), length: some(length) };
        let wanted = Wanted {
            handler_key: "charge".to_owned(),
            versions: vec![1],
            limit: some(100),
            max_crashes: NonZeroU32::MIN,
            terms: Terms { runs, ..Terms::default() },
        };
        let request = LeaseRequest::new("host", Duration::from_hours(1), vec![wanted]);
        let leases = self.0.lease(request, Now::OfStore).await.unwrap();
        let held = |token| move |id| Held { token, id };
        let of = |lease: inbox::store::Lease| {
            let ids = lease.deliveries.into_iter().map(|one| one.message.id);
            ids.map(held(lease.token)).collect::<Vec<_>>()
        };
        leases.into_iter().flat_map(of).collect()
    }

    /// The same, under way.
    pub(crate) fn claiming(&self, lanes: u32, length: u32) -> JoinHandle<Vec<Held>> {
        let worker = self.clone();
        tokio::spawn(async move { worker.claim(lanes, length).await })
    }

    pub(crate) async fn settle(&self, held: Held, settlement: Settlement) {
        let settle = Settle::by_id(held.token, held.id, settlement);
        self.0.settle(vec![settle], Now::OfStore).await.unwrap().remove(0).unwrap();
    }

    pub(crate) async fn complete(&self, held: Held) {
        self.settle(held, Settlement::Done(DoneOutcome::Completed)).await;
    }

    /// The same, under way.
    pub(crate) fn completing(&self, held: Held) -> JoinHandle<()> {
        let worker = self.clone();
        tokio::spawn(async move { worker.complete(held).await })
    }
}

/// Two workers, and an application that schedules in SQL.
pub(crate) struct Bench {
    database: PostgresDatabase,
    pub(crate) one: Worker,
    pub(crate) two: Worker,
    client: Client,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let open = async || {
            let options = reach::options().connections(2).ensure_schema();
            Worker(options.open_on(&database).await.unwrap())
        };
        let (one, two) = (open().await, open().await);
        let route = Route {
            contract: "pay".to_owned(),
            handler_key: "charge".to_owned(),
            supersedes: Vec::new(),
            context: String::new(),
            on_dead: OnDead::Block,
        };
        one.0.register_routes(vec![route], Now::OfStore).await.unwrap();
        let client = database.connect().await.unwrap();
        client.batch_execute(BARRIER).await.unwrap();
        Self { database, one, two, client }
    }

    /// Schedules one of this lane.
    pub(crate) async fn schedule(&self, lane: &str) -> MessageId {
        let sql =
            "SELECT message_id::text FROM inbox.schedule('pay', 1, 'null', ordering_key => $1)";
        self.client.query_one(sql, &[&lane]).await.unwrap().get::<_, &str>(0).parse().unwrap()
    }

    /// Schedules so many of the lane `a`, one after the other.
    pub(crate) async fn fill(&self, count: usize) -> Vec<MessageId> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.schedule("a").await);
        }
        all
    }

    /// A transaction that has done this, and is open.
    pub(crate) async fn open(&self, sql: &str) -> Client {
        let client = self.database.connect().await.unwrap();
        client.batch_execute(&format!("BEGIN; {sql}")).await.unwrap();
        client
    }

    /// Lowers the barrier, until the transaction ends.
    pub(crate) async fn barrier(&self) -> Client {
        self.open("SELECT pg_advisory_xact_lock(1)").await
    }

    /// Lowers another one, for the next statement alone.
    pub(crate) async fn barrier_before_the_next_change(&self) -> Client {
        self.client.batch_execute(BEFORE_A_CHANGE).await.unwrap();
        self.open("SELECT pg_advisory_xact_lock(2)").await
    }

    /// How many rows of lanes there are, and how many of them have no holder.
    pub(crate) async fn lanes(&self) -> (i64, i64) {
        let sql = "SELECT count(*), count(*) FILTER (WHERE num_nulls(lease_id, message_id) = 2)
                   FROM inbox.lane";
        let row = self.client.query_one(sql, &[]).await.unwrap();
        (row.get(0), row.get(1))
    }

    async fn waiting(&self) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
        self.client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Until so many statements wait for another transaction.
    pub(crate) async fn until_waiting(&self, count: i64) {
        while self.waiting().await < count {
            tokio::task::yield_now().await;
        }
    }

    /// Until this is done, or so many statements wait. Answers whether it is done.
    pub(crate) async fn is_done<T>(&self, task: &JoinHandle<T>, waiting: i64) -> bool {
        while !task.is_finished() {
            if self.waiting().await >= waiting {
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }

    /// These are done in their order, each once, and nothing is left.
    pub(crate) async fn assert_over(&self, held: &[Held], expected: &[MessageId]) {
        assert_eq!(ids(held), expected);
        for one in held {
            assert!(self.one.claim(9, 9).await.is_empty(), "some of the run are held");
            self.two.complete(*one).await;
        }
        assert!(self.one.claim(9, 9).await.is_empty(), "nothing is left");
        assert_eq!(self.one.0.lanes(LaneFilter::default()).await.unwrap(), []);
        assert_eq!(self.lanes().await, (0, 0));
        let left = "SELECT (SELECT count(*) FROM inbox.held) + (SELECT count(*) FROM inbox.ready)
                         + (SELECT count(*) FROM inbox.waiting)";
        assert_eq!(self.client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
        assert_eq!(self.one.0.mend(10, Now::OfStore).await.unwrap(), 0, "nothing was left behind");
    }
}
