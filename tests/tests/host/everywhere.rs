//! The network breaks at every place where a host waits for its database, one after the other.

use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::Health;
use inbox::postgres::PostgresOptions;
use inbox::store::{DeliveryState, Inspect as _};
use inbox::testing::fault::{Fault, FaultProxy};
use inbox::testing::ledger::{self, Expectations, Ledger};
use inbox::testing::postgres::PostgresDatabase;
use inbox::{Inbox, ScheduleOptions};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::kit::{Gate, PATIENCE, Task, What, builder, health_is};

/// Commands of each kind.
const SOME: u64 = 3;

/// How many are tried at the same time: they mostly wait.
const ABREAST: usize = 16;

/// Works off a few commands while the network breaks with this request, if with any. Answers how many
/// requests it took.
async fn works_off(breaks: Option<(u64, Fault)>) -> u64 {
    let database = PostgresDatabase::create().await.unwrap();
    let proxy = FaultProxy::before(database.config()).await.unwrap();
    let options = PostgresOptions::new().ensure_schema().connections(1);
    let direct = options.open(&database.url()).await.unwrap();
    // Impatient, so that a test need not wait, but no call of a busy machine takes so long.
    let options = PostgresOptions::new().connections(2).call_timeout(Duration::from_secs(5));
    let through = options.open_config(proxy.config().clone()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(directory.path().join("ledger")).unwrap();
    let gate = Gate::default();
    let inbox = builder(through, &gate).layer(ledger.layer()).max_attempts(2);
    // What was leased when the answer was lost comes back after this long. A busy machine renews it in
    // time: every lease that is lost costs an attempt.
    let inbox = inbox.lease_duration(Duration::from_secs(20)).build().await.unwrap();
    let elsewhere = Inbox::builder(direct.clone()).scheduler_only().build().await.unwrap();
    let schedule = async |number, what| {
        let task = Task { number, what };
        let receipt = elsewhere.scheduler().schedule(task, ScheduleOptions::new()).await.unwrap();
        ledger.accepted(&receipt, None);
    };
    for number in 0..SOME {
        schedule(number, What::Pass).await;
        schedule(100 + number, What::Fail).await;
    }
    let before = proxy.requests();
    if let Some((at, fault)) = breaks {
        proxy.break_at(before + at, fault);
    }
    let host = inbox.start().unwrap();
    let case = format!("{breaks:?}");
    if let Some((at, _)) = breaks {
        let is_broken = |health: &Health| {
            proxy.requests() > before + at && !health.is_live() && !health.is_ready()
        };
        health_is(&inbox, is_broken).await;
        proxy.heal();
    }
    // The last failure is a dead letter: all is settled then.
    gate.until(|seen| (0..SOME).all(|number| seen.ended.contains_key(&number))).await;
    let begun = std::time::Instant::now();
    while direct
        .counts()
        .await
        .unwrap()
        .iter()
        .any(|count| count.state != DeliveryState::Completed && count.state != DeliveryState::Dead)
    {
        assert!(begun.elapsed() < PATIENCE, "{case}: {}", inbox.control().health());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = proxy.requests() - before;
    health_is(&inbox, |health| health.is_ready() && health.problems().next().is_none()).await;
    host.shutdown(Duration::from_secs(30)).await;
    let stored = ledger::stored(&direct).await.unwrap();
    let expected = Expectations::new().handler_keys("host.task", ["work"]).settled();
    let read = Ledger::read(directory.path().join("ledger")).unwrap();
    let summary = read.check(&stored, &expected).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!((summary.completed as u64, summary.dead as u64), (SOME, SOME), "{case}");
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_that_begins_with_any_request_is_red_and_then_green_and_loses_nothing() {
    let all = works_off(None).await;
    let abreast = Arc::new(Semaphore::new(ABREAST));
    let mut cases = JoinSet::new();
    let faults = [Fault::Reset, Fault::BlackHole, Fault::HalfOpen];
    for (at, fault) in (0..all).flat_map(|at| faults.map(|fault| (at, fault))) {
        let abreast = Arc::clone(&abreast);
        cases.spawn(async move {
            let _turn = abreast.acquire_owned().await.unwrap();
            works_off(Some((at, fault))).await
        });
    }
    while let Some(case) = cases.join_next().await {
        assert!(case.unwrap() > 0);
    }
    println!("{all} requests");
}
