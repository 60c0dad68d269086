use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, SECOND, envelope, ids, ordered};

pub async fn of_one_ordering_key_one_is_held_at_a_time(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), first);
    assert!(bench.lease("charge", 10).await.is_empty(), "its turn has not come");
    assert!(other.lease("charge", 10).await.is_empty(), "nor for another worker");
    bench.settled(&held, DONE).await;
    assert_eq!(other.lease_one("charge").await.id(), second);
}

pub async fn a_batch_holds_one_of_each_ordering_key(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut batch = Vec::new();
    for key in ["a", "b", "a", "c", "b", "a"] {
        batch.push(ordered("pay", key));
    }
    let all: Vec<_> = batch.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(batch).await;
    for expected in [&[all[0], all[1], all[3]][..], &[all[2], all[4]], &[all[5]], &[]] {
        let held = bench.lease("charge", 10).await;
        let mut leased = ids(&held);
        leased.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(leased, expected);
        let settles = held.iter().map(|held| held.settle(DONE)).collect();
        assert!(bench.settle_all(settles).await.iter().all(Result::is_ok));
    }
}

pub async fn those_of_a_lane_run_in_the_order_of_acceptance(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut expected = Vec::new();
    let mut run = Vec::new();
    for round in 0..4 {
        for _ in 0..=round {
            expected.push(bench.accept_one(ordered("pay", "a")).await);
        }
        bench.pass(SECOND);
        let held = bench.lease_one("charge").await;
        run.push(held.id());
        bench.settled(&held, DONE).await;
    }
    while let Some(held) = bench.lease("charge", 10).await.first() {
        run.push(held.id());
        bench.settled(held, DONE).await;
    }
    assert_eq!(run, expected);
}

pub async fn a_deep_lane_is_no_obstacle_to_what_comes_after_it(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..100).map(|_| ordered("pay", "deep")).collect()).await;
    let other = bench.accept_one(ordered("pay", "other")).await;
    let keyless = bench.accept_one(envelope("pay")).await;
    let held = bench.lease("charge", 3).await;
    assert_eq!(ids(&held)[1..], [other, keyless], "both, in one call");
}

pub async fn what_has_no_ordering_key_is_held_with_any_number(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..5).map(|_| envelope("pay")).collect()).await;
    bench.accept_one(ordered("pay", "a")).await;
    assert_eq!(bench.lease("charge", 10).await.len(), 6);
}
