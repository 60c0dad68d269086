use inbox_core::settle::{DoneOutcome, Settlement};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, SECOND, fail_after, ordered};

pub async fn a_head_that_waits_for_its_retry_keeps_the_lane(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    let held = bench.lease_one("charge").await;
    bench.settled(&held, fail_after(SECOND * 30)).await;
    assert!(bench.lease("charge", 10).await.is_empty());
    bench.pass(SECOND * 30);
    assert_eq!(bench.promote(10).await, 1);
    let third = bench.accept_one(ordered("pay", "a")).await;
    for expected in [first, second, third] {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), expected);
        bench.settled(&held, DONE).await;
    }
}

pub async fn a_head_that_was_given_back_keeps_the_lane(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    bench.accept_one(ordered("pay", "a")).await;
    let held = bench.lease_one("charge").await;
    assert_eq!(bench.release(vec![held.token]).await, 1);
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), first);
    bench.settled(&held, Settlement::Release).await;
    assert_eq!(bench.lease_one("charge").await.id(), first);
}

pub async fn a_head_whose_worker_vanished_keeps_the_lane(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    let lost = bench.lease_one("charge").await;
    bench.pass(HOLD);
    assert!(bench.lease("charge", 10).await.is_empty(), "not reclaimed yet");
    assert_eq!(bench.reclaim(10).await.returned(), 1);
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), first);
    assert!(bench.settle(&lost, DONE).await.is_err(), "the lost lease settles nothing");
    assert!(bench.lease("charge", 10).await.is_empty(), "nor does it free the lane");
    bench.settled(&held, DONE).await;
    assert_eq!(bench.lease_one("charge").await.id(), second);
}

pub async fn whatever_its_end_a_head_that_is_done_hands_its_lane_on(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let outcomes = [DoneOutcome::Completed, DoneOutcome::Expired, DoneOutcome::Cancelled];
    let mut expected = Vec::new();
    for _ in 0..=outcomes.len() {
        expected.push(bench.accept_one(ordered("pay", "a")).await);
    }
    for (outcome, expected) in outcomes.into_iter().zip(&expected) {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), *expected);
        bench.settled(&held, Settlement::Done(outcome)).await;
    }
    assert_eq!(bench.lease_one("charge").await.id(), expected[3]);
}

pub async fn a_head_that_dies_with_its_workers_ends_as_one_that_is_settled(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    let terms = super::dead::passing("charge");
    loop {
        let held = bench.lease_wanted(vec![terms.clone()]).await;
        let [held] = held.as_slice() else { panic!("one is leased at a time: {held:?}") };
        if held.id() == second {
            break;
        }
        assert_eq!(held.id(), first);
        bench.pass(HOLD);
        bench.reclaim(10).await;
    }
}
