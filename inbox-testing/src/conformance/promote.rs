//! *waiting → ready*.

use inbox_core::Now;
use inbox_core::store::{DeliveryFilter, DeliveryState};

use super::TestDatabase;
use super::kit::{Bench, SECOND, all_at_once, delayed, patiently};

pub async fn only_what_is_due_is_promoted(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let soon = bench.accept_one(delayed("pay", SECOND)).await;
    let late = bench.accept_one(delayed("pay", SECOND * 3)).await;
    let unrouted = bench.accept_one(delayed("mail", SECOND)).await;
    bench.pass(SECOND * 2);
    assert_eq!(bench.promote(10).await, 1);
    assert_eq!(bench.state(soon).await, DeliveryState::Pending);
    assert_eq!(bench.state(late).await, DeliveryState::Waiting);
    let unrouted = bench.delivery(unrouted).await;
    assert_eq!((unrouted.state, unrouted.handler_key), (DeliveryState::Waiting, None));
}

pub async fn the_limit_of_a_promotion_holds(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..5).map(|_| delayed("pay", SECOND)).collect()).await;
    bench.pass(SECOND);
    let ready = DeliveryFilter::in_state(DeliveryState::Pending);
    for (moved, sum) in [(2, 2), (2, 4), (1, 5), (0, 5)] {
        assert_eq!(bench.promote(2).await, moved);
        assert_eq!(bench.list(ready.clone()).await.len(), sum);
    }
}

pub async fn what_was_due_first_is_promoted_first(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut accepted = Vec::new();
    for seconds in [30, 10, 20] {
        accepted.push(bench.accept_one(delayed("pay", SECOND * seconds)).await);
    }
    bench.pass(SECOND * 40);
    for at in [1, 2, 0] {
        assert_eq!(bench.promote(1).await, 1);
        assert_eq!(bench.lease_one("charge").await.id(), accepted[at]);
    }
}

pub async fn promoting_again_changes_nothing(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(delayed("pay", SECOND)).await;
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1);
    let before = bench.show(id).await;
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 0);
    assert_eq!(bench.show(id).await, before);
    bench.lease_one("charge").await;
}

pub async fn of_many_promotions_at_once_each_delivery_is_moved_by_one(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..100).map(|_| delayed("pay", SECOND)).collect()).await;
    bench.pass(SECOND);
    let mut promoting = Vec::new();
    for _ in 0..4 {
        let bench = bench.other(database, "host").await;
        promoting.push(async move {
            let mut moved = 0;
            for _ in 0..10 {
                let call = || bench.store.promote(7, Now::At(bench.now));
                moved += patiently("promote", call).await;
            }
            moved
        });
    }
    let moved: u64 = all_at_once(promoting).await.into_iter().sum();
    let left = bench.promote(1_000).await;
    assert_eq!(moved + left, 100, "each is counted once");
    assert_eq!(bench.lease("charge", 1_000).await.len(), 100);
}
