use inbox_core::schedule::Start;
use inbox_core::store::{Cancelled, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, accept_lane, drain, fail_after, ordered, wanted,
};

pub async fn a_cancelled_head_hands_its_lane_on(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    // One that waits for its retry, one that is ready, one that is held.
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    assert_eq!(bench.cancel(all[0], None).await, Cancelled { at_once: 1, asked: 0 });
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), all[1]);
    bench.release(vec![held.token]).await;
    assert_eq!(bench.cancel(all[1], Some("charge")).await, Cancelled { at_once: 1, asked: 0 });
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), all[2]);
    assert_eq!(bench.cancel(all[2], None).await, Cancelled { at_once: 0, asked: 1 });
    assert!(bench.lease("charge", 10).await.is_empty(), "its handler may be at work");
    assert_eq!(bench.settle(&held, fail_after(SECOND)).await, Ok(DeliveryState::Cancelled));
    assert_eq!(bench.lease_one("charge").await.id(), all[3]);
}

pub async fn a_cancelled_head_that_is_given_back_hands_its_lane_on(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    let held = bench.lease_one("charge").await;
    bench.cancel(all[0], None).await;
    assert_eq!(bench.release(vec![held.token]).await, 0);
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), all[1]);
    bench.cancel(all[1], None).await;
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(10).await.cancelled(), 1);
    assert_eq!(bench.lease_one("charge").await.id(), all[2]);
}

pub async fn one_that_is_cancelled_behind_a_head_is_passed_by(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    let held = bench.lease_one("charge").await;
    assert!(bench.lease("charge", 10).await.is_empty());
    assert_eq!(bench.cancel(all[1], None).await.at_once, 1);
    assert!(bench.lease("charge", 10).await.is_empty(), "the head is still at work");
    bench.settled(&held, DONE).await;
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), all[2]);
    assert_eq!(bench.cancel(all[3], None).await.at_once, 1);
    bench.settled(&held, DONE).await;
    assert!(bench.lease("charge", 10).await.is_empty());
}

pub async fn one_behind_a_head_that_is_to_start_now_keeps_its_turn(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    let held = bench.lease_one("charge").await;
    assert!(bench.lease("charge", 10).await.is_empty());
    assert_eq!(bench.reschedule(all[3], None, Start::Immediately).await, 1);
    assert_eq!(bench.reschedule(all[1], None, Start::After(SECOND)).await, 1);
    assert!(bench.lease("charge", 10).await.is_empty());
    bench.settled(&held, DONE).await;
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1);
    // One that was put off has its turn when it is due: behind the others.
    for expected in [all[2], all[3], all[1]] {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), expected);
        bench.settled(&held, DONE).await;
    }
}

pub async fn a_head_that_is_put_off_keeps_its_lane(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    bench.accept_one(ordered("pay", "a")).await;
    let held = bench.lease_one("charge").await;
    bench.settled(&held, fail_after(SECOND)).await;
    assert_eq!(bench.reschedule(first, None, Start::After(SECOND * 60)).await, 1);
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 0);
    assert!(bench.lease("charge", 10).await.is_empty());
    assert_eq!(bench.reschedule(first, None, Start::Immediately).await, 1);
    assert_eq!(bench.lease_one("charge").await.id(), first);
}

pub async fn a_ready_head_that_is_put_off_gives_up_its_lane(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    // Promoted after it failed, or given back.
    for fails in [true, false] {
        let all = accept_lane(&bench, 3).await;
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), all[0]);
        assert!(bench.lease("charge", 10).await.is_empty(), "the others are behind it");
        if fails {
            bench.settled(&held, fail_after(SECOND)).await;
            bench.pass(SECOND);
            assert_eq!(bench.promote(10).await, 1);
        } else {
            assert_eq!(bench.release(vec![held.token]).await, 1);
        }
        assert_eq!(bench.reschedule(all[0], None, Start::After(SECOND * 60)).await, 1);
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), all[1], "it goes on at once");
        bench.pass(SECOND * 60);
        assert_eq!(bench.promote(10).await, 1);
        let last = bench.accept_one(ordered("pay", "a")).await;
        bench.settled(&held, DONE).await;
        let left = drain(&bench, vec![wanted("charge", 10)]).await;
        assert_eq!(left, [all[2], all[0], last], "its turn is that of its new start");
        assert_eq!(bench.mend(10).await, 0, "nothing was left behind");
    }
}
