use inbox_core::settle::DeadReason;
use inbox_core::store::{OnDead, Terms, Wanted};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, dead, ordered, wanted};

/// A handler whose dead heads let others pass.
pub(super) fn passing(handler_key: &str) -> Wanted {
    let terms = Terms { on_dead: OnDead::Skip, ..Terms::default() };
    Wanted { terms, ..wanted(handler_key, 10) }
}

pub async fn a_dead_head_blocks_its_lane_until_it_is_retried(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    bench.settled(&bench.lease_one("charge").await, dead(DeadReason::AttemptsExhausted)).await;
    bench.accept_one(ordered("pay", "a")).await;
    assert!(bench.lease("charge", 10).await.is_empty(), "the lane is blocked");
    let free = bench.accept_one(ordered("pay", "b")).await;
    bench.settled(&bench.lease_one("charge").await, DONE).await;
    assert!(bench.delivery(free).await.state.is_terminal(), "other lanes are not");
    assert!(bench.retry(first, "charge").await);
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), first, "its turn is next");
    bench.settled(&held, DONE).await;
    assert_eq!(bench.lease_one("charge").await.id(), second);
}

pub async fn a_dead_head_lets_others_pass_where_that_is_wanted(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let second = bench.accept_one(ordered("pay", "a")).await;
    let third = bench.accept_one(ordered("pay", "a")).await;
    let held = bench.lease_wanted(vec![passing("charge")]).await;
    bench.settled(&held[0], dead(DeadReason::AttemptsExhausted)).await;
    assert!(bench.retry(first, "charge").await, "it goes to the end");
    for expected in [second, third, first] {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), expected);
        bench.settled(&held, DONE).await;
    }
}
