use inbox_core::settle::{DeadReason, Settlement};
use inbox_core::store::{Cancelled, DeliveryState, Renewed};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, Held, SECOND, dead, envelope, fail_after, ids};

/// A lease of three whose second is to be stopped.
async fn held(bench: &Bench) -> Vec<Held> {
    bench.register("pay", "charge").await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 3).await;
    let asked = Cancelled { at_once: 0, asked: 1 };
    assert_eq!(bench.cancel(held[1].id(), None).await, asked);
    assert_eq!(bench.state(held[1].id()).await, DeliveryState::Processing, "it runs still");
    held
}

pub async fn a_worker_learns_of_a_cancellation_when_it_renews(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let held = held(&bench).await;
    let expires_at = bench.later(HOLD);
    for token in held.iter().map(|held| held.token) {
        let answers = bench.renew_fully(vec![token], HOLD).await;
        let own = token == held[1].token;
        let cancelled = held[1..2].iter().filter(|_| own).map(Held::id).collect();
        assert_eq!(answers, [Ok(Renewed { expires_at, cancelled })]);
    }
    let again = bench.cancel(held[1].id(), Some("charge")).await;
    assert_eq!(again, Cancelled { at_once: 0, asked: 1 }, "asking again does no harm");
    bench.settled(&held[1], DONE).await;
    for held in [&held[0], &held[2]] {
        let left = bench.renew_fully(vec![held.token], HOLD).await;
        let none = Renewed { expires_at, cancelled: Vec::new() };
        assert_eq!(left, [Ok(none)], "what is settled needs no stopping");
    }
}

pub async fn a_cancelled_delivery_whose_handler_succeeds_is_completed(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let held = held(&bench).await;
    bench.settled(&held[1], DONE).await;
    assert_eq!(bench.state(held[1].id()).await, DeliveryState::Completed);
}

pub async fn a_cancelled_delivery_that_fails_is_not_tried_again(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    for settlement in [fail_after(SECOND), dead(DeadReason::AttemptsExhausted)] {
        let held = held(&bench).await;
        bench.pass(SECOND);
        let answer = bench.settle(&held[1], settlement).await;
        assert_eq!(answer, Ok(DeliveryState::Cancelled));
        let record = bench.show(held[1].id()).await;
        let done = &record.deliveries[0];
        assert_eq!((done.state, done.attempts), (DeliveryState::Cancelled, 1));
        assert_eq!(done.settled_at, Some(bench.now));
        assert_eq!(record.attempts.len(), 1, "what went wrong is kept");
        // Its neighbours go on as if nothing had happened.
        bench.settled(&held[0], DONE).await;
        bench.settled(&held[2], fail_after(HOLD * 9)).await;
    }
    bench.pass(HOLD);
    assert_eq!(bench.promote(10).await, 0);
}

pub async fn a_cancelled_delivery_that_is_released_is_done(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let held = held(&bench).await;
    let tokens = held.iter().map(|held| held.token).collect();
    assert_eq!(bench.release(tokens).await, 2, "the others are ready again");
    let done = bench.delivery(held[1].id()).await;
    assert_eq!((done.state, done.attempts), (DeliveryState::Cancelled, 0));
    let mut ready = ids(&bench.lease("charge", 10).await);
    ready.sort_unstable();
    assert_eq!(ready, [held[0].id(), held[2].id()]);
}

pub async fn a_cancelled_delivery_that_goes_back_is_done(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let held = held(&bench).await;
    let answer = bench.settle(&held[1], Settlement::Release).await;
    assert_eq!(answer, Ok(DeliveryState::Cancelled));
    let record = bench.show(held[1].id()).await;
    let done = &record.deliveries[0];
    assert_eq!((done.state, done.attempts), (DeliveryState::Cancelled, 0));
    assert_eq!(record.attempts, [], "it was not tried");
    for held in [&held[0], &held[2]] {
        bench.settled(held, DONE).await;
    }
}

pub async fn a_cancelled_delivery_of_a_vanished_worker_is_done(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&bench).await;
    bench.pass(HOLD);
    let reclaimed = bench.reclaim(10).await;
    assert_eq!((reclaimed.returned(), reclaimed.cancelled(), reclaimed.moved()), (2, 1, 3));
    let done = bench.delivery(held[1].id()).await;
    assert_eq!((done.state, done.attempts), (DeliveryState::Cancelled, 0));
    assert_eq!(bench.lease("charge", 10).await.len(), 2);
    bench.pass(HOLD);
    bench.reclaim(10).await;
    // Two workers vanished with the others; one of them is cancelled while it is held as quarantined.
    let quarantined = bench.lease_one("charge").await;
    bench.cancel(quarantined.id(), None).await;
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(10).await.cancelled(), 1);
    assert_eq!(bench.state(quarantined.id()).await, DeliveryState::Cancelled);
}

pub async fn a_lease_that_has_expired_is_cancelled_all_the_same(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await;
    bench.pass(HOLD);
    bench.cancel(id, None).await;
    bench.reclaim(10).await;
    assert_eq!(bench.state(id).await, DeliveryState::Cancelled);
}
