use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use inbox::dispatch::BoxError;
use inbox::postgres::tokio_postgres::{Client, Config};
use inbox::postgres::{PostgresOptions, PostgresStore, Transaction};
use inbox::store::DeliveryState;
use inbox::{
    Batch, Context, Inbox, MessageId, ScheduleOptions, Scheduler, State, handler, inbox_contract,
};
use inbox_testing::fault::FaultProxy;
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};
use tokio::sync::{Barrier, Notify, Semaphore};

use crate::reach::{self, PATIENCE};

/// What the handler does after it has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Then {
    Succeed,
    Fail,
    Panic,
    /// Says that it has begun, and goes on when it may.
    Wait,
    /// Schedules another command in its transaction, and then this.
    Schedule,
    ScheduleAndFail,
    /// Notes how its statements are planned, and what it does after it has scheduled.
    LookAtPlans,
    /// A statement fails, and it goes on as if nothing had happened.
    CatchAnError,
    /// The same with a savepoint.
    UndoAnError,
    Commit,
    CommitAndBegin,
    RollBack,
    RollBackAndBegin,
    /// A constraint is broken that is looked at in the end.
    BreakADeferredConstraint,
    /// Fails the first time, and is repeated within the attempt.
    FailFirst,
}

#[inbox_contract(name = "book", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
pub(crate) struct Book {
    pub(crate) id: i64,
    pub(crate) then: Then,
}

#[inbox_contract(name = "notice", version = 1, idempotency_key = "notice-{id}")]
#[derive(Serialize, Deserialize)]
pub(crate) struct Notice {
    pub(crate) id: i64,
}

/// What tests and handlers share.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) runs: Arc<AtomicU32>,
    pub(crate) begun: Arc<Notify>,
    pub(crate) may_go_on: Arc<Semaphore>,
    pub(crate) both: Arc<Barrier>,
    /// The pid of the server's process, by command.
    pub(crate) backends: Arc<Mutex<HashMap<i64, i32>>>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            runs: Arc::default(),
            begun: Arc::default(),
            may_go_on: Arc::new(Semaphore::new(0)),
            both: Arc::new(Barrier::new(2)),
            backends: Arc::default(),
        }
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    pub(crate) async fn wait(&self) {
        self.begun.notify_one();
        self.may_go_on.acquire().await.unwrap().forget();
    }

    pub(crate) fn go_on(&self) {
        self.may_go_on.add_permits(1);
    }
}

#[handler(
    key = "book",
    max_attempts = 3,
    retry(immediate = 1, immediate_delay = "1ms", initial = "1h")
)]
async fn book(
    Book { id, then }: Book,
    tx: &mut Transaction,
    context: Context,
    State(desk): State<Desk>,
) -> Result<(), BoxError> {
    let run = desk.runs.fetch_add(1, Ordering::SeqCst);
    let pid: i32 = tx.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
    desk.backends.lock().unwrap().insert(id, pid);
    tx.execute("INSERT INTO booked (id) VALUES ($1)", &[&id]).await?;
    match then {
        Then::FailFirst if run == 0 => return Err("the first time".into()),
        Then::Succeed | Then::FailFirst => {}
        Then::Fail => return Err("as told".into()),
        Then::Panic => panic!("as told"),
        Then::Wait => desk.wait().await,
        Then::Schedule | Then::ScheduleAndFail => {
            let scheduler = context.scheduler();
            scheduler.within(tx).schedule(Notice { id }, ScheduleOptions::new()).await?;
            if then == Then::ScheduleAndFail {
                return Err("as told".into());
            }
        }
        Then::LookAtPlans => {
            let look = "INSERT INTO planned SELECT $1, current_setting('enable_seqscan')";
            tx.execute(look, &[&1_i32]).await?;
            let scheduler = context.scheduler();
            scheduler.within(tx).schedule(Notice { id }, ScheduleOptions::new()).await?;
            tx.execute(look, &[&2_i32]).await?;
        }
        Then::CatchAnError => assert!(tx.execute("SELECT 1 / 0", &[]).await.is_err()),
        Then::UndoAnError => {
            tx.batch_execute("SAVEPOINT one").await?;
            assert!(tx.execute("SELECT 1 / 0", &[]).await.is_err());
            tx.batch_execute("ROLLBACK TO SAVEPOINT one").await?;
        }
        Then::Commit => tx.batch_execute("COMMIT").await?,
        Then::CommitAndBegin => tx.batch_execute("COMMIT; BEGIN").await?,
        Then::RollBack => tx.batch_execute("ROLLBACK").await?,
        Then::RollBackAndBegin => tx.batch_execute("ROLLBACK; BEGIN").await?,
        Then::BreakADeferredConstraint => {
            tx.execute("INSERT INTO balanced (id) VALUES (-1)", &[]).await?;
        }
    }
    Ok(())
}

#[handler(key = "notice")]
async fn notice(_command: Notice) {}

#[inbox_contract(name = "slow", version = 1)]
#[derive(Serialize, Deserialize)]
pub(crate) struct Slow {
    pub(crate) id: i64,
    /// Until it is stopped.
    pub(crate) hangs: bool,
}

#[handler(key = "slow", timeout = "200ms", max_attempts = 3, retry(initial = "1h"))]
async fn slow(command: Slow, tx: &mut Transaction, desk: State<Desk>) -> Result<(), BoxError> {
    desk.runs.fetch_add(1, Ordering::SeqCst);
    if command.hangs {
        tx.execute("INSERT INTO booked (id) VALUES ($1)", &[&command.id]).await?;
        std::future::pending::<()>().await;
    }
    Ok(())
}

#[inbox_contract(name = "cross", version = 1)]
#[derive(Serialize, Deserialize)]
pub(crate) struct Cross {
    pub(crate) first: i64,
    pub(crate) second: i64,
}

/// Two of them, with the rows in opposite orders, wait for each other.
#[handler(key = "cross", max_attempts = 1)]
async fn cross(command: Cross, tx: &mut Transaction, desk: State<Desk>) -> Result<(), BoxError> {
    let run = desk.runs.fetch_add(1, Ordering::SeqCst);
    let add = "UPDATE pair SET n = n + 1 WHERE id = $1";
    tx.execute(add, &[&command.first]).await?;
    if run < 2 {
        desk.both.wait().await;
    }
    tx.execute(add, &[&command.second]).await?;
    Ok(())
}

#[inbox_contract(name = "sum", version = 1)]
#[derive(Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) id: i64,
    pub(crate) fails: bool,
}

#[handler(key = "sum", batch = 3, max_attempts = 3, retry(initial = "1h"))]
async fn sum(
    batch: Batch<Sum>,
    tx: &mut Transaction,
    State(desk): State<Desk>,
    State(scheduler): State<Scheduler<PostgresStore>>,
) -> Result<(), BoxError> {
    desk.runs.fetch_add(1, Ordering::SeqCst);
    for (_, command) in batch.iter() {
        tx.execute("INSERT INTO booked (id) VALUES ($1)", &[&command.id]).await?;
        let notice = Notice { id: command.id };
        scheduler.within(tx).schedule(notice, ScheduleOptions::new()).await?;
        if command.fails {
            return Err("as told".into());
        }
    }
    if batch.iter().any(|(_, command)| command.id < 0) {
        desk.wait().await;
    }
    Ok(())
}

/// The application's own tables. Whatever is booked twice shows.
const TABLES: &str = "
    CREATE TABLE booked (id bigint NOT NULL);
    CREATE TABLE pair (id bigint PRIMARY KEY, n bigint NOT NULL);
    CREATE TABLE known (id bigint PRIMARY KEY);
    CREATE TABLE balanced (
        id bigint NOT NULL REFERENCES known (id) DEFERRABLE INITIALLY DEFERRED
    )";

pub(crate) struct Application {
    // Before the database, which cannot be dropped while others are connected.
    pub(crate) client: Client,
    pub(crate) inbox: Inbox<PostgresStore>,
    pub(crate) desk: Desk,
    pub(crate) proxy: FaultProxy,
    _database: PostgresDatabase,
}

pub(crate) fn options() -> PostgresOptions {
    // Nothing is sent but what a test asks for.
    reach::options().connections(4).without_notify()
}

impl Application {
    pub(crate) async fn start() -> Self {
        Self::start_with(options()).await
    }

    pub(crate) async fn start_with(options: PostgresOptions) -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let proxy = FaultProxy::before(database.config()).await.unwrap();
        let client = database.connect().await.unwrap();
        client.batch_execute(TABLES).await.unwrap();
        let desk = Desk::new();
        let inbox = open(options, proxy.config(), &desk).await;
        Self { client, inbox, desk, proxy, _database: database }
    }

    pub(crate) async fn schedule(&self, id: i64, then: Then) -> MessageId {
        let book = Book { id, then };
        let receipt = self.inbox.scheduler().schedule(book, ScheduleOptions::new()).await;
        receipt.unwrap().message_id()
    }

    /// Does this when a row is inserted into a table, or `DEFERRED`, at the end of the transaction, as
    /// long as strokes are left.
    pub(crate) async fn strike(&self, table: &str, when: &str, strokes: u32, what: &str) {
        let strike = format!(
            "CREATE SEQUENCE stroke;
             CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 -- Not rolled back, whatever becomes of the transaction.
                 IF nextval('stroke') <= {strokes} THEN {what} END IF;
                 RETURN NEW;
             END $$;
             CREATE CONSTRAINT TRIGGER strike AFTER INSERT ON {table} DEFERRABLE INITIALLY {when}
                 FOR EACH ROW EXECUTE FUNCTION strike()"
        );
        self.client.batch_execute(&strike).await.unwrap();
    }

    /// How often each command was booked.
    pub(crate) async fn booked(&self) -> Vec<i64> {
        let rows = self.client.query("SELECT id FROM booked ORDER BY id", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Where the delivery is, and what went wrong.
    pub(crate) async fn outcome(&self, id: MessageId) -> (DeliveryState, Vec<String>) {
        let status = self.inbox.status(id).await.unwrap().unwrap();
        assert_eq!(status.deliveries.len(), 1);
        let errors = status.attempts.into_iter().map(|attempt| attempt.error).collect();
        (status.deliveries[0].state, errors)
    }

    /// Whether no transaction is open, but the test's own.
    pub(crate) async fn assert_nothing_is_open(&self) {
        let open = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                        AND state LIKE 'idle in transaction%'";
        assert_eq!(self.client.query_one(open, &[]).await.unwrap().get::<_, i64>(0), 0);
    }
}

pub(crate) async fn open(
    options: PostgresOptions,
    config: &Config,
    desk: &Desk,
) -> Inbox<PostgresStore> {
    let store = options.ensure_schema().open_config(config.clone()).await.unwrap();
    Inbox::builder(store).state(desk.clone()).build().await.unwrap()
}

/// What takes longer will never happen.
pub(crate) async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.unwrap()
}
