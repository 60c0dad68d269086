//! *lease → ready*.

use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken};

use super::TestDatabase;
use super::kit::{Bench, DONE, HOLD, SECOND, envelope, fail_after, ids};

pub async fn a_released_delivery_is_ready_and_its_attempt_not_counted(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for _ in 0..5 {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.delivery.attempt, 1, "none was counted before");
        assert_eq!(bench.release(vec![held.token]).await, 1);
        let record = bench.show(id).await;
        let ready = &record.deliveries[0];
        assert_eq!((ready.state, ready.attempts), (DeliveryState::Pending, 0));
        assert_eq!(ready.lease_expires_at, None);
        assert_eq!(record.attempts, [], "nothing went wrong");
        bench.pass(SECOND);
    }
}

pub async fn a_release_gives_back_one_attempt_and_no_more(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    bench.pass(SECOND);
    bench.promote(10).await;
    bench.release(vec![bench.lease_one("charge").await.token]).await;
    let again = bench.lease_one("charge").await.delivery;
    assert_eq!((again.attempt, again.carry.retries), (2, 1));
}

pub async fn release_answers_how_many_deliveries_are_ready_again(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..6).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 4).await;
    let kept = bench.lease("charge", 2).await;
    bench.settled(&held[0], DONE).await;
    let mut tokens: Vec<_> = held.iter().map(|held| held.token).collect();
    tokens.push(LeaseToken::new());
    assert_eq!(bench.release(tokens.clone()).await, 3, "one of four was settled");
    assert_eq!(bench.release(tokens).await, 0, "nothing is held under them any more");
    assert_eq!(bench.release(Vec::new()).await, 0);
    assert_eq!(bench.state(held[0].id()).await, DeliveryState::Completed);
    assert_eq!(bench.state(kept[0].id()).await, DeliveryState::Processing);
    assert_eq!(bench.lease("charge", 10).await.len(), 3);
}

pub async fn a_lease_that_has_expired_is_released_as_no_crash(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..2).map(|_| envelope("pay")).collect()).await;
    for _ in 0..3 {
        let held = bench.lease("charge", 2).await;
        bench.pass(HOLD);
        bench.pass(HOLD);
        // Nobody has reclaimed it, so nobody can have it; and whoever says so has not crashed.
        assert_eq!(bench.release(held.iter().map(|held| held.token).collect()).await, 2);
        assert_eq!(bench.reclaim(10).await.moved(), 0);
    }
    // One that is quarantined would come alone.
    let again = bench.lease("charge", 10).await;
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|held| held.delivery.attempt == 1));
}

pub async fn a_lease_that_another_holds_by_now_is_not_released(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let stale = bench.lease_one("charge").await;
    bench.pass(HOLD);
    bench.reclaim(10).await;
    let other = bench.other(database, "host-2").await;
    let held = other.lease_one("charge").await;
    assert_eq!(bench.release(vec![stale.token]).await, 0);
    other.settled(&held, DONE).await;
}

pub async fn a_released_lease_settles_nothing(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..2).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 10).await;
    bench.release(held.iter().map(|held| held.token).collect()).await;
    assert_eq!(bench.settle(&held[0], DONE).await, Err(LeaseLost(held[0].token)));
    let mut again = ids(&bench.lease("charge", 10).await);
    again.sort_unstable();
    assert_eq!(again, ids(&held), "both are leased again");
}
