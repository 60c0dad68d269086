//! Every public future, dropped wherever it can be, leaves no lease, connection, permit or task behind.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use inbox::hosting::HostPhase;
use inbox::postgres::deadpool_postgres::{Manager, Pool};
use inbox::postgres::tokio_postgres::{Client, NoTls};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::Start;
use inbox::store::{DeliveryFilter, DeliveryState, Inspect as _};
use inbox::testing::postgres::PostgresDatabase;
use inbox::{Inbox, MessageId, ScheduleOptions};

use crate::kit::{Gate, PATIENCE, Task, What, all_are, builder, health_is, schedule};

/// Polls a future so often at most, and drops it. Answers whether it came to its end.
async fn dropped_after<T>(polls: usize, mut future: Pin<Box<dyn Future<Output = T> + '_>>) -> bool {
    let mut left = polls;
    let polled = poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        future.as_mut().poll(context).map(|_| true)
    });
    let polled = tokio::time::timeout(PATIENCE, polled).await;
    polled.unwrap_or_else(|_| panic!("nothing woke it for its next poll, one of {polls}"))
}

/// A store on a pool that the test can look into.
struct Place {
    inbox: Inbox<PostgresStore>,
    gate: Gate,
    pool: Pool,
    tasks: usize,
    next: u64,
    /// Looks at what the server knows of the others.
    admin: Client,
    database: PostgresDatabase,
}

/// Locks and transactions that somebody has left behind, once nothing is asked any more.
const HELD: &str = "SELECT
    (SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND (state LIKE 'idle in transaction%' OR state = 'active'))
    + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))";

impl Place {
    async fn new() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let manager = Manager::new(database.config().clone(), NoTls);
        let pool = Pool::builder(manager).max_size(3).build().unwrap();
        let options = PostgresOptions::new().ensure_schema().without_notify();
        let store = options.open_pool(pool.clone()).await.unwrap();
        let gate = Gate::default();
        let inbox = builder(store, &gate).build().await.unwrap();
        // Each connection has a task of its own, so all of them are made now.
        let all = [pool.get().await.unwrap(), pool.get().await.unwrap(), pool.get().await.unwrap()];
        drop(all);
        let admin = database.connect().await.unwrap();
        let mut place = Self { inbox, gate, pool, tasks: 0, next: 0, admin, database };
        place.tasks = place.alive();
        place
    }

    fn alive(&self) -> usize {
        // A connection that was given up is made again when it is needed.
        let missing = 3 - self.pool.status().size;
        tokio::runtime::Handle::current().metrics().num_alive_tasks() + missing
    }

    /// Schedules some tasks, and answers until when the host must run to handle them.
    async fn tasks(&mut self, what: What) -> std::ops::Range<u64> {
        let numbers = self.next..self.next + 3;
        self.next += 3;
        schedule(self.inbox.scheduler(), numbers.clone(), what).await;
        numbers
    }

    /// Waits until nothing is left of what was dropped.
    async fn is_clean(&self, case: &str) {
        let begun = std::time::Instant::now();
        loop {
            let status = self.pool.status();
            let is_idle = status.available == status.size && status.waiting == 0;
            let counts = self.inbox.store().counts().await.unwrap();
            let held = counts.iter().any(|count| count.state == DeliveryState::Processing);
            let phase = self.inbox.control().health().phase;
            let is_over = phase == HostPhase::New || phase == HostPhase::Stopped;
            let locks: i64 = self.admin.query_one(HELD, &[]).await.unwrap().get(0);
            if is_over && is_idle && !held && locks == 0 && self.alive() <= self.tasks {
                return;
            }
            let tasks = (self.alive(), self.tasks);
            assert!(
                begun.elapsed() < PATIENCE,
                "{case}: {phase:?} {status:?} {counts:?} {tasks:?} {locks} locks"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn a_host_that_is_dropped_wherever_it_waits_leaves_nothing_behind() {
    for what in [What::Pass, What::Wait] {
        let mut place = Place::new().await;
        for polls in 0.. {
            let numbers = place.tasks(what).await;
            place.gate.permit_no_more();
            let gate = place.gate.clone();
            let all_ended = async move {
                gate.until(|seen| numbers.clone().all(|number| seen.began.contains_key(&number)))
                    .await;
                gate.permit(3);
                gate.until(|seen| numbers.clone().all(|number| seen.ended.contains_key(&number)))
                    .await;
            };
            let inbox = place.inbox.clone();
            let run = Box::pin(async move { inbox.run_until(all_ended).await.unwrap() });
            let has_ended = dropped_after(polls, run).await;
            place.is_clean(&format!("{what:?}, dropped after {polls} polls")).await;
            // What was given back is there for the next worker.
            place.gate.permit(3);
            place.inbox.process_pending().await.unwrap();
            let all = all_are(&**place.inbox.store(), DeliveryState::Completed).await;
            assert_eq!(all, place.next);
            if has_ended {
                break;
            }
        }
        drop(place.database);
    }
}

#[tokio::test]
async fn a_shutdown_that_nobody_waits_for_goes_on_by_itself() {
    let mut place = Place::new().await;
    for polls in 0..4 {
        place.tasks(What::Wait).await;
        let host = place.inbox.start().unwrap();
        health_is(&place.inbox, |health| health.load.running >= 3).await;
        dropped_after(polls, Box::pin(host.shutdown(Duration::ZERO))).await;
        if polls > 0 {
            host.stopped().await;
        }
        drop(host);
        place.is_clean(&format!("shutdown dropped after {polls} polls")).await;
    }
}

#[tokio::test]
async fn a_drain_that_is_dropped_leaves_the_host_paused_and_well() {
    let mut place = Place::new().await;
    let host = place.inbox.start().unwrap();
    for polls in 0..3 {
        place.tasks(What::Wait).await;
        health_is(&place.inbox, |health| health.load.running == 3).await;
        let control = place.inbox.control();
        // Nothing wakes it again while handlers wait, so it is dropped after a while at the latest.
        let drain = dropped_after(polls, Box::pin(control.drain()));
        let _ = tokio::time::timeout(Duration::from_millis(300), drain).await;
        place.gate.permit(3);
        health_is(&place.inbox, |health| health.load.held() == 0).await;
        assert_eq!(place.inbox.control().health().paused, polls > 0);
        place.inbox.control().resume();
    }
    host.shutdown(Duration::from_secs(30)).await;
    place.is_clean("drain").await;
}

#[tokio::test]
async fn passes_and_schedules_that_are_dropped_wherever_they_wait_leave_nothing_behind() {
    let mut place = Place::new().await;
    for polls in 0.. {
        place.tasks(What::Pass).await;
        let inbox = place.inbox.clone();
        let pass = Box::pin(async move { inbox.process_pending().await.unwrap() });
        let has_ended = dropped_after(polls, pass).await;
        place.is_clean(&format!("pass dropped after {polls} polls")).await;
        if has_ended {
            break;
        }
    }
    for polls in 0.. {
        let task = Task { number: 1_000_000, what: What::Pass };
        let options = ScheduleOptions::new().idempotency_key(format!("dropped after {polls}"));
        let inbox = place.inbox.clone();
        let schedule =
            Box::pin(async move { inbox.scheduler().schedule(task, options).await.unwrap() });
        let has_ended = dropped_after(polls, schedule).await;
        place.is_clean(&format!("schedule dropped after {polls} polls")).await;
        if has_ended {
            break;
        }
    }
}

/// Drops what is made for each number of polls, until it comes to its end.
async fn is_dropped_everywhere<T>(
    place: &Place,
    name: &str,
    make: impl AsyncFn(&Inbox<PostgresStore>, &Pool, usize) -> T,
) {
    for polls in 0.. {
        let (inbox, pool) = (&place.inbox, &place.pool);
        let has_ended = dropped_after(polls, Box::pin(make(inbox, pool, polls))).await;
        place.is_clean(&format!("{name} dropped after {polls} polls")).await;
        if has_ended {
            return;
        }
    }
}

fn some(polls: usize) -> Vec<(Task, ScheduleOptions)> {
    let one = |number: u64| {
        let key = format!("{number} of {polls}");
        (Task { number, what: What::Pass }, ScheduleOptions::new().idempotency_key(key))
    };
    (0..3).map(one).collect()
}

#[tokio::test]
async fn schedules_of_many_and_in_a_transaction_that_are_dropped_leave_nothing_behind() {
    let place = Place::new().await;
    is_dropped_everywhere(&place, "many", async |inbox, _, polls| {
        inbox.scheduler().schedule_all(some(polls)).await.unwrap();
    })
    .await;
    is_dropped_everywhere(&place, "bulk", async |inbox, _, polls| {
        inbox.scheduler().schedule_bulk(some(polls)).await.unwrap();
    })
    .await;
    is_dropped_everywhere(&place, "in a transaction", async |inbox, pool, polls| {
        let mut connection = pool.get().await.unwrap();
        let transaction = connection.transaction().await.unwrap();
        let within = inbox.scheduler().within(&transaction);
        for (task, options) in some(polls) {
            within.schedule(task, options).await.unwrap();
        }
        drop(within);
        transaction.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn builds_looks_and_moves_that_are_dropped_wherever_they_wait_leave_nothing_behind() {
    let mut place = Place::new().await;
    let gate = place.gate.clone();
    is_dropped_everywhere(&place, "build", async |inbox, _, _| {
        builder((**inbox.store()).clone(), &gate).build().await.unwrap();
    })
    .await;
    place.tasks(What::Pass).await;
    let filter = DeliveryFilter::default;
    let id: MessageId = place.inbox.list(filter()).await.unwrap().deliveries[0].message_id;
    is_dropped_everywhere(&place, "status", async |inbox, _, _| inbox.status(id).await).await;
    is_dropped_everywhere(&place, "list", async |inbox, _, _| inbox.list(filter()).await).await;
    is_dropped_everywhere(&place, "retry", async |inbox, _, _| inbox.retry(id, "work").await).await;
    is_dropped_everywhere(&place, "reschedule", async |inbox, _, _| {
        inbox.reschedule(id, Start::Immediately).await.unwrap();
    })
    .await;
    is_dropped_everywhere(&place, "cancel", async |inbox, _, _| inbox.cancel(id).await).await;
    is_dropped_everywhere(&place, "run now", async |inbox, _, _| {
        inbox.run_now(Task { number: 1_000_000, what: What::Pass }).await.unwrap();
    })
    .await;
}
