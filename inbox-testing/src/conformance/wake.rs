//! The bell is rung for whatever becomes ready, where a store has one.

use inbox_core::schedule::Start;
use inbox_core::settle::DeadReason;
use inbox_core::store::{Bell, BellListener};
use tokio::time::timeout;

use super::TestDatabase;
use super::kit::{
    Bench, DONE, HOLD, PATIENCE, SECOND, dead, delayed, envelope, fail_after, ordered,
};
use super::limits::{per_key, sharing};

/// Hears what is rung from now on; nothing, if workers must ask.
fn listener(bench: &Bench) -> Option<BellListener> {
    bench.store.bell().map(Bell::listener)
}

async fn was_rung(listener: Option<BellListener>) {
    let Some(mut listener) = listener else { return };
    let heard = timeout(PATIENCE, listener.heard()).await;
    assert!(heard.is_ok(), "something is ready and the bell was not rung");
}

pub async fn what_is_accepted_rings(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let bell = listener(&bench);
    bench.accept_one(envelope("pay")).await;
    was_rung(bell).await;
    let bell = listener(&bench);
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    was_rung(bell).await;
}

pub async fn what_waited_for_a_route_rings_when_it_is_routed(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.accept_one(envelope("pay")).await;
    let bell = listener(&bench);
    bench.register("pay", "charge").await;
    was_rung(bell).await;
}

pub async fn what_is_promoted_rings(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(delayed("pay", SECOND)).await;
    bench.pass(SECOND);
    let bell = listener(&bench);
    assert_eq!(bench.promote(10).await, 1);
    was_rung(bell).await;
}

pub async fn what_is_released_rings(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let held = bench.lease_one("charge").await;
    let bell = listener(&bench);
    assert_eq!(bench.release(vec![held.token]).await, 1);
    was_rung(bell).await;
}

pub async fn what_is_reclaimed_rings(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await;
    bench.pass(HOLD);
    let bell = listener(&bench);
    assert_eq!(bench.reclaim(10).await.returned(), 1);
    was_rung(bell).await;
}

pub async fn what_a_person_makes_ready_rings(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    let failed = fail_after(SECOND);
    bench.settled(&bench.lease_one("charge").await, failed).await;
    let bell = listener(&bench);
    assert_eq!(bench.reschedule(id, None, Start::Immediately).await, 1);
    was_rung(bell).await;
    let given_up = dead(DeadReason::AttemptsExhausted);
    bench.settled(&bench.lease_one("charge").await, given_up).await;
    let bell = listener(&bench);
    assert!(bench.retry(id, "charge").await);
    was_rung(bell).await;
}

pub async fn what_has_its_turn_in_a_lane_rings(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept(vec![ordered("pay", "a"), ordered("pay", "a")]).await;
    let held = bench.lease_one("charge").await;
    assert!(bench.lease("charge", 10).await.is_empty(), "its turn has not come");
    let bell = listener(&bench);
    bench.settled(&held, DONE).await;
    was_rung(bell).await;
    bench.lease_one("charge").await;
}

pub async fn what_has_room_under_a_limit_rings(database: &dyn TestDatabase) {
    let one_at_a_time = || vec![per_key("charge", 1)];
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept(vec![sharing("pay", "x"), sharing("pay", "x")]).await;
    let held = bench.lease_wanted(one_at_a_time()).await;
    assert!(bench.lease_wanted(one_at_a_time()).await.is_empty(), "there is room for one");
    let bell = listener(&bench);
    bench.settled(&held[0], DONE).await;
    was_rung(bell).await;
    assert_eq!(bench.lease_wanted(one_at_a_time()).await.len(), 1);
}

pub async fn whoever_says_that_something_is_ready_rings(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let bell = listener(&bench);
    bench.store.wake();
    was_rung(bell).await;
}
