//! The database goes away, in every way a network has, and comes back: the host goes on by itself.

use std::time::Duration;

use inbox::hosting::{Health, HostPhase};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::{DeliveryState, Inspect as _};
use inbox::testing::fault::{Fault, FaultProxy};
use inbox::testing::ledger::{self, Expectations, Ledger};
use inbox::testing::postgres::PostgresDatabase;
use inbox::{Inbox, MessageId, ScheduleOptions};

use crate::kit::{Gate, PATIENCE, Task, What, all_are, builder, health_is, schedule};

/// What was lost with a lease comes back after this long. A busy machine renews it in time.
const LEASE: Duration = Duration::from_secs(10);

/// For handlers that are to run once, whatever the machine has to do.
const LONG_LEASE: Duration = Duration::from_mins(5);

/// A database, a way to it that fails, and another that does not.
struct Place {
    proxy: FaultProxy,
    direct: PostgresStore,
    database: PostgresDatabase,
}

impl Place {
    async fn new() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let proxy = FaultProxy::before(database.config()).await.unwrap();
        let options = PostgresOptions::new().ensure_schema().connections(2);
        let direct = options.open(&database.url()).await.unwrap();
        Self { proxy, direct, database }
    }

    /// The store as the host has it: impatient, so that a test need not wait.
    async fn through(&self) -> PostgresStore {
        let options = PostgresOptions::new().connections(6).call_timeout(Duration::from_secs(5));
        options.open_config(self.proxy.config().clone()).await.unwrap()
    }

    /// A host that says soon that something is wrong.
    async fn host(&self, gate: &Gate, lease: Duration) -> Inbox<PostgresStore> {
        let builder = builder(self.through().await, gate).lease_duration(lease);
        builder.stall_after(Duration::from_millis(500)).build().await.unwrap()
    }

    /// What is scheduled while the host is cut off.
    async fn elsewhere(&self) -> Inbox<PostgresStore> {
        Inbox::builder(self.direct.clone()).scheduler_only().build().await.unwrap()
    }
}

/// Everything is well, the listener included.
fn is_well(health: &Health) -> bool {
    health.is_live() && health.is_ready() && health.problems().next().is_none()
}

async fn gets_over(fault: Fault) {
    let place = Place::new().await;
    let gate = Gate::default();
    let inbox = place.host(&gate, LEASE).await;
    let elsewhere = place.elsewhere().await;
    let host = inbox.start().unwrap();
    health_is(&inbox, is_well).await;
    // Some are at work when it begins, some come during it, some after it.
    schedule(elsewhere.scheduler(), 0..3, What::Wait).await;
    gate.began(3).await;
    place.proxy.set(fault);
    schedule(elsewhere.scheduler(), 3..6, What::Pass).await;
    health_is(&inbox, |health| !health.is_live() && !health.is_ready()).await;
    gate.permit(20);
    place.proxy.heal();
    schedule(elsewhere.scheduler(), 6..9, What::Pass).await;
    gate.ended(9).await;
    assert_eq!(all_are(&place.direct, DeliveryState::Completed).await, 9);
    health_is(&inbox, is_well).await;
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_network_that_resets_everything_is_red_and_then_green() {
    gets_over(Fault::Reset).await;
}

#[tokio::test]
async fn a_network_that_swallows_everything_is_red_and_then_green() {
    gets_over(Fault::BlackHole).await;
}

#[tokio::test]
async fn a_network_that_swallows_answers_is_red_and_then_green() {
    gets_over(Fault::HalfOpen).await;
}

/// However far the host is: outages of every kind begin at moments that nobody chose, while commands
/// are scheduled, leased, handled and settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outages_at_any_moment_lose_and_double_nothing() {
    const MESSAGES: u64 = 3_000;
    let place = Place::new().await;
    let gate = Gate::default();
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(directory.path().join("ledger")).unwrap();
    let builder = builder(place.through().await, &gate).layer(ledger.layer());
    let builder = builder.lease_duration(LEASE).concurrency(8);
    let inbox = builder.build().await.unwrap();
    let elsewhere = place.elsewhere().await;
    let mut accepted: Vec<MessageId> = Vec::new();
    let host = inbox.start().unwrap();
    let faults = [Fault::Reset, Fault::BlackHole, Fault::HalfOpen, Fault::Reset];
    for (number, fault) in (0..MESSAGES).step_by(100).zip(faults.into_iter().cycle()) {
        for number in number..number + 100 {
            let what = if number % 10 == 3 { What::Fail } else { What::Pass };
            let task = Task { number, what };
            let receipt =
                elsewhere.scheduler().schedule(task, ScheduleOptions::new()).await.unwrap();
            ledger.accepted(&receipt, None);
            accepted.push(receipt.message_id());
        }
        // At a random moment of what follows, and for as long as it takes to be noticed, or less.
        let moment = Duration::from_micros(fastrand::u64(..30_000));
        tokio::time::sleep(moment).await;
        place.proxy.set(fault);
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..150_000))).await;
        place.proxy.heal();
    }
    // What fails does so more often than it is worth waiting for.
    let completed = u64::try_from(accepted.len()).unwrap() * 9 / 10;
    let begun = std::time::Instant::now();
    loop {
        let counts = place.direct.counts().await.unwrap();
        let done = counts.iter().find(|count| count.state == DeliveryState::Completed);
        if done.is_some_and(|done| done.count == completed) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{counts:?} {}", inbox.control().health());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    host.shutdown(Duration::from_secs(30)).await;
    let stored = ledger::stored(&place.direct).await.unwrap();
    let expected = Expectations::new().handler_keys("host.task", ["work"]);
    let summary = Ledger::read(directory.path().join("ledger")).unwrap().check(&stored, &expected);
    println!("{}", summary.unwrap());
}

async fn ends_while_away(fault: Fault) {
    let place = Place::new().await;
    let gate = Gate::default();
    let inbox = place.host(&gate, LEASE).await;
    let elsewhere = place.elsewhere().await;
    let host = inbox.start().unwrap();
    schedule(elsewhere.scheduler(), 0..3, What::Wait).await;
    gate.began(3).await;
    place.proxy.set(fault);
    // One is done and cannot be settled, two go on.
    gate.permit(1);
    health_is(&inbox, |health| health.load.unsettled == 1).await;
    // The network does not come back before this is over. How long it takes, a clock that stands still
    // tells elsewhere: see `trouble`.
    let ending = tokio::time::timeout(PATIENCE, host.shutdown(Duration::from_millis(500)));
    let report = ending.await.unwrap_or_else(|_| panic!("{fault:?}: it waits for the network"));
    assert_eq!(inbox.control().health().phase, HostPhase::Stopped);
    assert_eq!(report.settled + report.released, 0, "{fault:?}: {report:?}");
    // All of it comes back, for a host that can reach the database.
    place.proxy.heal();
    gate.permit(10);
    let next = builder(place.direct.clone(), &gate).build().await.unwrap();
    let host = next.start().unwrap();
    assert_eq!(all_are(&place.direct, DeliveryState::Completed).await, 3);
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_shutdown_is_bounded_while_the_database_is_away() {
    tokio::join!(
        ends_while_away(Fault::Reset),
        ends_while_away(Fault::BlackHole),
        ends_while_away(Fault::HalfOpen)
    );
}

#[tokio::test]
async fn an_outcome_whose_answer_was_lost_is_not_run_again() {
    let place = Place::new().await;
    let gate = Gate::default();
    let inbox = place.host(&gate, LONG_LEASE).await;
    let elsewhere = place.elsewhere().await;
    let host = inbox.start().unwrap();
    health_is(&inbox, is_well).await;
    for number in 0..10 {
        schedule(elsewhere.scheduler(), [number], What::Wait).await;
        gate.began(usize::try_from(number).unwrap() + 1).await;
        // The next request is the settle, or a beat of another loop.
        place.proxy.lose_next_reply();
        gate.permit(1);
        gate.ended(usize::try_from(number).unwrap() + 1).await;
        // Otherwise it would be the answer to the next claim, which finds something.
        health_is(&inbox, |_| place.proxy.lost() > number).await;
    }
    assert_eq!(all_are(&place.direct, DeliveryState::Completed).await, 10);
    assert!(gate.seen().began.values().all(|times| *times == 1), "{:?}", gate.seen());
    assert!(place.proxy.lost() > 0);
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_pool_smaller_than_the_concurrency_and_busy_handlers_stop_nothing() {
    let place = Place::new().await;
    let gate = Gate::default();
    let options = PostgresOptions::new().connections(1);
    let store = options.open_config(place.proxy.config().clone()).await.unwrap();
    let inbox = builder(store, &gate).lease_duration(LONG_LEASE).build().await.unwrap();
    let host = inbox.start().unwrap();
    for burst in 0..20 {
        schedule(inbox.scheduler(), burst * 100..burst * 100 + 100, What::Pass).await;
    }
    gate.ended(2_000).await;
    assert_eq!(all_are(&place.direct, DeliveryState::Completed).await, 2_000);
    assert!(gate.seen().began.values().all(|times| *times == 1));
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_database_that_refuses_the_first_settles_is_asked_again_and_handlers_run_once() {
    let place = Place::new().await;
    // The sequence counts also what is rolled back.
    let admin = place.database.connect().await.unwrap();
    let refuse = "CREATE SEQUENCE tries;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            CASE nextval('tries')
                WHEN 1, 3 THEN RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure';
                WHEN 2 THEN RAISE EXCEPTION 'not now' USING ERRCODE = 'deadlock_detected';
                WHEN 4 THEN PERFORM pg_terminate_backend(pg_backend_pid());
                ELSE NULL;
            END CASE;
            RETURN NEW;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON inbox.done_default
            FOR EACH ROW EXECUTE FUNCTION refuse();";
    admin.batch_execute(refuse).await.unwrap();
    let gate = Gate::default();
    let inbox = place.host(&gate, LONG_LEASE).await;
    let host = inbox.start().unwrap();
    schedule(inbox.scheduler(), 0..10, What::Pass).await;
    assert_eq!(all_are(&place.direct, DeliveryState::Completed).await, 10);
    let row = admin.query_one("SELECT last_value FROM tries", &[]).await.unwrap();
    assert!(row.get::<_, i64>(0) > 10, "nothing was refused");
    assert!(gate.seen().began.values().all(|times| *times == 1), "{:?}", gate.seen());
    host.shutdown(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_claim_that_hangs_behind_a_lock_is_given_up_and_the_next_one_finds_the_work() {
    let place = Place::new().await;
    let gate = Gate::default();
    let inbox = place.host(&gate, LEASE).await;
    let elsewhere = place.elsewhere().await;
    let host = inbox.start().unwrap();
    health_is(&inbox, is_well).await;
    schedule(elsewhere.scheduler(), 0..3, What::Pass).await;
    gate.ended(3).await;
    let mut client = place.database.connect().await.unwrap();
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE inbox.ready IN ACCESS EXCLUSIVE MODE").await.unwrap();
    // First it does not come around, then it is given up, and tried again.
    health_is(&inbox, |health| {
        let given_up = |problem: String| {
            problem.starts_with("pump") && problem.contains("gave no answer within")
        };
        !health.is_live() && health.problems().any(given_up)
    })
    .await;
    lock.rollback().await.unwrap();
    schedule(elsewhere.scheduler(), 3..6, What::Pass).await;
    gate.ended(6).await;
    health_is(&inbox, is_well).await;
    host.shutdown(Duration::from_secs(30)).await;
}
