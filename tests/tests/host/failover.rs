//! A failover in the middle of a lane, to a standby that lacks some of what was settled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use inbox::postgres::PostgresOptions;
use inbox::postgres::tokio_postgres::{Client, Config};
use inbox::store::{DeliveryState, LaneFilter};
use inbox::testing::fault::FaultProxy;
use inbox::testing::postgres::PostgresServer;
use inbox::{Context, ScheduleOptions, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

use crate::kit::{Gate, PATIENCE, Task, What, all_are, builder};
use crate::standby::connect;

/// How many there are of the lane.
const ALL: u64 = 200;

#[inbox_contract(name = "host.step", version = 1, ordering_key = "one")]
#[derive(Serialize, Deserialize)]
struct Step {
    number: u64,
    what: What,
}

#[handler(key = "step")]
async fn step(step: Step, State(gate): State<Gate>, context: Context) -> Result<(), String> {
    gate.tell(usize::try_from(step.number).unwrap());
    gate.run(&Task { number: step.number, what: step.what }, &context).await
}

/// Waits until the server answers this number.
async fn answers(server: &Client, sql: &str, expected: u64) {
    let begun = Instant::now();
    loop {
        let number: i64 = server.query_one(sql, &[]).await.unwrap().get(0);
        if number.unsigned_abs() == expected {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "`{sql}` answers {number}, not {expected}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const SETTLED: &str = "SELECT count(*) FROM inbox.done";

/// What became of a lane.
struct Lane {
    /// The numbers of the messages, in the order in which they were begun.
    began: Vec<u64>,
    times: BTreeMap<u64, u32>,
}

/// Works on a lane through a failover, at `failover`, to a standby that has only those before `copied` as settled.
async fn fails_over(copied: u64, failover: u64) -> Lane {
    let primary = PostgresServer::start().unwrap();
    let primary_config: Config = primary.url("postgres").parse().unwrap();
    let proxy = FaultProxy::before(&primary_config).await.unwrap();
    let options = PostgresOptions::new().connections(4).call_timeout(Duration::from_secs(10));
    let store = options.ensure_schema().open_config(proxy.config().clone()).await.unwrap();
    let gate = Gate::default();
    let builder = builder(store, &gate).lease_duration(Duration::from_secs(15));
    let inbox = builder.build().await.unwrap();
    let all = (0..ALL).map(|number| {
        let what = if [copied, failover].contains(&number) { What::Wait } else { What::Pass };
        (Step { number, what }, ScheduleOptions::new())
    });
    let receipts = inbox.scheduler().schedule_all(all.collect::<Vec<_>>()).await.unwrap();
    assert!(receipts.iter().all(Result::is_ok));
    let standby = primary.standby().unwrap();
    let standby_config: Config = standby.url("postgres").parse().unwrap();
    let (before, after) = (connect(&primary_config).await, connect(&standby_config).await);

    let host = inbox.start().unwrap();
    gate.until(|seen| seen.began.contains_key(&copied)).await;
    answers(&after, SETTLED, copied).await;
    // From here on the standby hears nothing.
    after.execute("ALTER SYSTEM SET primary_conninfo = ''", &[]).await.unwrap();
    after.execute("SELECT pg_reload_conf()", &[]).await.unwrap();
    answers(&after, "SELECT count(*) FROM pg_stat_wal_receiver", 0).await;
    gate.permit(1);
    gate.until(|seen| seen.began.contains_key(&failover)).await;
    answers(&before, SETTLED, failover).await;
    drop(primary);

    after.execute("SELECT pg_promote()", &[]).await.unwrap();
    answers(&after, SETTLED, copied).await;
    // It took longer than the leases that the standby knows of.
    let expire = "UPDATE inbox.lease SET expires_at = clock_timestamp()";
    assert!(after.execute(expire, &[]).await.unwrap() > 0);
    proxy.lead_to(&standby_config).await.unwrap();
    gate.permit(100);
    gate.until(|seen| seen.ended.contains_key(&(ALL - 1))).await;
    assert_eq!(all_are(&**inbox.store(), DeliveryState::Completed).await, ALL);
    assert_eq!(inbox.lanes(LaneFilter::default()).await.unwrap(), []);
    host.shutdown(PATIENCE).await;

    let times = gate.seen().began;
    let mut began = Vec::new();
    for _ in 0..times.values().sum() {
        began.push(gate.told().await as u64);
    }
    Lane { began, times }
}

/// The numbers, each once: where it was for the first time.
fn first(began: &[u64]) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    began.iter().copied().filter(|number| seen.insert(*number)).collect()
}

#[tokio::test]
async fn a_lane_goes_on_after_a_failover_that_lost_some_of_its_settlements() {
    let (copied, failover) = (60, 120);
    let Lane { mut began, times } = fails_over(copied, failover).await;
    assert_eq!(first(&began), (0..ALL).collect::<Vec<_>>(), "{began:?}");
    let again = |number: u64| times[&number] > 1;
    assert!(
        !(0..copied).any(again),
        "what the standby has as settled does not run again: {times:?}"
    );
    assert!((copied..failover).all(again), "what it does not have does: {times:?}");
    began.drain(..=usize::try_from(failover).unwrap());
    let lost = first(&began).into_iter().filter(|number| (copied..failover).contains(number));
    assert!(lost.is_sorted(), "in its order: {began:?}");
}
