//! What is scheduled is picked up at once, without asking all the time.

use std::time::Duration;

use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::Start;
use inbox::sqlite::SqliteStore;
use inbox::store::{DeliveryState, Store};
use inbox::testing::fault::{Fault, FaultProxy};
use inbox::testing::postgres::PostgresDatabase;
use inbox::{Inbox, ScheduleOptions};

use crate::kit::{Gate, Task, What, all_are, builder, health_is, schedule};

/// A host that would ask after this long has been woken if it did anything before.
const NEVER: Duration = Duration::from_hours(1);

async fn sleepy<S: Store>(store: S, gate: &Gate) -> Inbox<S> {
    builder(store, gate).poll_interval(NEVER).build().await.unwrap()
}

async fn postgres(database: &PostgresDatabase) -> PostgresStore {
    let options = PostgresOptions::new().ensure_schema().connections(4);
    options.open(&database.url()).await.unwrap()
}

/// Waits until the host has asked once and found nothing.
async fn has_looked<S: Store>(inbox: &Inbox<S>) {
    health_is(inbox, |health| health.is_ready() && health.problems().next().is_none()).await;
}

pub(crate) async fn wakes_for_everything<S: Store + Clone>(store: S, other: S) {
    let gate = Gate::default();
    let inbox = sleepy(store.clone(), &gate).await;
    let _host = inbox.start().unwrap();
    has_looked(&inbox).await;
    // What this process schedules …
    schedule(inbox.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    // … what another one schedules …
    let elsewhere = Inbox::builder(other).scheduler_only().build().await.unwrap();
    schedule(elsewhere.scheduler(), 1..2, What::Pass).await;
    gate.ended(2).await;
    // … what becomes due, be it a delay, a retry or a later start …
    let delayed = ScheduleOptions::new().delay(Duration::from_millis(200));
    let task = Task { number: 2, what: What::Pass };
    elsewhere.scheduler().schedule(task, delayed).await.unwrap();
    gate.ended(3).await;
    schedule(inbox.scheduler(), 3..4, What::Fail).await;
    gate.until(|seen| seen.ended.get(&3).is_some_and(|times| *times >= 3)).await;
    let far = ScheduleOptions::new().delay(Duration::from_hours(2));
    let task = Task { number: 4, what: What::Pass };
    let id = elsewhere.scheduler().schedule(task, far).await.unwrap().message_id();
    elsewhere.reschedule(id, Start::Immediately).await.unwrap();
    gate.until(|seen| seen.ended.contains_key(&4)).await;
}

#[tokio::test]
async fn a_host_on_postgres_wakes_for_all_that_becomes_ready() {
    let database = PostgresDatabase::create().await.unwrap();
    wakes_for_everything(postgres(&database).await, postgres(&database).await).await;
}

#[tokio::test]
async fn a_host_on_a_file_wakes_for_all_that_becomes_ready() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    let open = async || -> SqliteStore { inbox::sqlite::open(&path).await.unwrap() };
    wakes_for_everything(open().await, open().await).await;
}

#[tokio::test]
async fn what_a_transaction_scheduled_is_picked_up_after_its_commit() {
    let database = PostgresDatabase::create().await.unwrap();
    let gate = Gate::default();
    let inbox = sleepy(postgres(&database).await, &gate).await;
    let _host = inbox.start().unwrap();
    has_looked(&inbox).await;
    let elsewhere =
        Inbox::builder(postgres(&database).await).scheduler_only().build().await.unwrap();
    let mut client = database.connect().await.unwrap();
    for (number, says_so) in [(0, false), (1, true)] {
        let transaction = client.transaction().await.unwrap();
        let task = Task { number, what: What::Pass };
        let within = elsewhere.scheduler().within(&transaction);
        within.schedule(task, ScheduleOptions::new()).await.unwrap();
        transaction.commit().await.unwrap();
        if says_so {
            elsewhere.scheduler().wake();
        }
        gate.ended(usize::try_from(number).unwrap() + 1).await;
    }
}

#[tokio::test]
async fn without_notifications_a_host_asks_now_and_then() {
    let database = PostgresDatabase::create().await.unwrap();
    let gate = Gate::default();
    let quiet = async || {
        let options = PostgresOptions::new().ensure_schema().connections(4).without_notify();
        options.open(&database.url()).await.unwrap()
    };
    let inbox = builder(quiet().await, &gate).build().await.unwrap();
    let _host = inbox.start().unwrap();
    has_looked(&inbox).await;
    let elsewhere = Inbox::builder(quiet().await).scheduler_only().build().await.unwrap();
    for number in 0..3 {
        schedule(elsewhere.scheduler(), [number], What::Pass).await;
        gate.ended(usize::try_from(number).unwrap() + 1).await;
    }
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, 3);
}

#[tokio::test]
async fn a_listener_that_is_cut_is_red_and_listens_again_while_polling_goes_on() {
    let database = PostgresDatabase::create().await.unwrap();
    let gate = Gate::default();
    let inbox = builder(postgres(&database).await, &gate).build().await.unwrap();
    let _host = inbox.start().unwrap();
    has_looked(&inbox).await;
    let admin = database.connect().await.unwrap();
    let listening = "SELECT pid FROM pg_stat_activity
                     WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')
                       AND pid <> pg_backend_pid()";
    let is_red = |health: &inbox::hosting::Health| {
        health.problems().any(|problem| problem.starts_with("listener"))
    };
    // Cut whenever it is there, until the host says that it is not.
    let begun = std::time::Instant::now();
    while !is_red(&inbox.control().health()) {
        for row in admin.query(listening, &[]).await.unwrap() {
            let pid: i32 = row.get(0);
            admin.execute("SELECT pg_terminate_backend($1)", &[&pid]).await.unwrap();
        }
        assert!(begun.elapsed() < crate::kit::PATIENCE);
        tokio::task::yield_now().await;
    }
    // The work goes on: a listener only makes it faster.
    assert!(inbox.control().health().is_live());
    let elsewhere =
        Inbox::builder(postgres(&database).await).scheduler_only().build().await.unwrap();
    schedule(elsewhere.scheduler(), 0..1, What::Pass).await;
    gate.ended(1).await;
    health_is(&inbox, |health| !is_red(health)).await;
}

#[tokio::test]
async fn while_nobody_can_listen_all_is_found_and_the_listener_is_red() {
    let database = PostgresDatabase::create().await.unwrap();
    let proxy = FaultProxy::before(database.config()).await.unwrap();
    let port = |config: &inbox::postgres::tokio_postgres::Config| config.get_ports()[0].to_string();
    let listen_at = database.url().replace(&port(database.config()), &port(proxy.config()));
    let gate = Gate::default();
    // Only the listener goes through the network that fails.
    let options = PostgresOptions::new().ensure_schema().connections(4).listen_at(listen_at);
    let store = options.open(&database.url()).await.unwrap();
    let inbox = builder(store, &gate).build().await.unwrap();
    let _host = inbox.start().unwrap();
    has_looked(&inbox).await;
    let elsewhere =
        Inbox::builder(postgres(&database).await).scheduler_only().build().await.unwrap();
    let is_red = |health: &inbox::hosting::Health| {
        health.problems().any(|problem| problem.starts_with("listener"))
    };
    let mut next = 0..;
    for fault in [Fault::Reset, Fault::BlackHole] {
        proxy.set(fault);
        health_is(&inbox, is_red).await;
        for number in next.by_ref().take(3) {
            schedule(elsewhere.scheduler(), [number], What::Pass).await;
            gate.ended(usize::try_from(number).unwrap() + 1).await;
        }
        let health = inbox.control().health();
        assert!(is_red(&health) && health.is_live() && health.is_ready(), "{health}");
        proxy.heal();
        health_is(&inbox, |health| !is_red(health)).await;
    }
}
