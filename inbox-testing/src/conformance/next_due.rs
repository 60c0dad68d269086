//! When to look again.

use std::time::Duration;

use inbox_core::schedule::Start;
use inbox_core::settle::DeadReason;

use super::TestDatabase;
use super::kit::{Bench, DONE, HOLD, SECOND, dead, delayed, envelope, fail_after};

pub async fn the_first_moment_is_next_to_the_microsecond(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for seconds in [30, 10, 20] {
        bench.accept_one(delayed("pay", SECOND * seconds)).await;
    }
    assert_eq!(bench.next_due().await, Some(SECOND * 10));
    let due = bench.later(SECOND * 10);
    bench.just_before(due);
    assert_eq!(bench.next_due().await, Some(Duration::from_micros(1)));
}

pub async fn what_is_due_already_is_due_in_no_time(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept(vec![delayed("pay", SECOND), delayed("pay", SECOND * 5)]).await;
    for _ in 0..2 {
        bench.pass(SECOND);
        assert_eq!(bench.next_due().await, Some(Duration::ZERO));
    }
    bench.promote(10).await;
    assert_eq!(bench.next_due().await, Some(SECOND * 3), "that is the other one");
}

pub async fn only_what_waits_for_a_moment_is_next(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    assert_eq!(bench.next_due().await, None, "there is nothing");
    bench.register("pay", "charge").await;
    bench.accept((0..5).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 4).await;
    bench.settled(&held[0], DONE).await;
    bench.settled(&held[1], dead(DeadReason::Undecodable)).await;
    let cancelled = bench.accept_one(delayed("pay", SECOND)).await;
    bench.cancel(cancelled, None).await;
    bench.accept_one(delayed("mail", SECOND)).await;
    assert_eq!(bench.next_due().await, None, "that one waits for a route");
    bench.register("mail", "send").await;
    assert_eq!(bench.next_due().await, Some(SECOND), "and now for its moment");
}

pub async fn a_retry_says_when_it_is_due(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(HOLD)).await;
    assert_eq!(bench.next_due().await, Some(HOLD));
    bench.pass(HOLD);
    bench.promote(10).await;
    assert_eq!(bench.next_due().await, None);
}

pub async fn another_start_is_another_moment(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(delayed("pay", SECOND)).await;
    for start in [HOLD, SECOND * 2] {
        bench.reschedule(id, None, Start::After(start)).await;
        assert_eq!(bench.next_due().await, Some(start));
    }
    bench.reschedule(id, None, Start::Immediately).await;
    assert_eq!(bench.next_due().await, None, "it is ready");
}

pub async fn the_farthest_moment_is_far(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(delayed("pay", Duration::MAX)).await;
    assert!(bench.next_due().await > Some(SECOND * 86_400 * 365 * 100), "there is one");
}
