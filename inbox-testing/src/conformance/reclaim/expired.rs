use inbox_core::Now;
use inbox_core::store::{DeliveryState, LeaseLost, Reclaimed};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, all_at_once, envelope, fail_after, patiently, wanted,
};

pub async fn a_lease_is_reclaimed_from_the_moment_it_expires(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let held = bench.lease_one("charge").await;
    bench.just_before(held.expires_at);
    let before = bench.show(held.id()).await;
    assert_eq!(bench.reclaim(10).await, Reclaimed::default(), "it is still held");
    assert_eq!(bench.show(held.id()).await, before);

    bench.now = held.expires_at;
    assert_eq!(bench.reclaim(10).await.returned(), 1);
    let ready = bench.delivery(held.id()).await;
    assert_eq!((ready.state, ready.lease_expires_at), (DeliveryState::Pending, None));
    assert_eq!(bench.reclaim(10).await, Reclaimed::default(), "nothing is left");
}

pub async fn the_first_expiry_is_not_counted(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    bench.pass(SECOND);
    bench.promote(10).await;
    let held = bench.lease_one("charge").await;
    assert_eq!(held.delivery.attempt, 2);
    bench.pass(HOLD);
    bench.reclaim(10).await;
    assert_eq!(bench.delivery(id).await.attempts, 1, "only the one that failed");
    let again = bench.lease_one("charge").await.delivery;
    assert_eq!((again.attempt, again.carry.retries), (2, 1));
}

pub async fn everything_that_a_lost_worker_held_is_ready_again(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("mail", "send").await;
    bench.accept((0..5).map(|_| envelope("pay")).collect()).await;
    bench.accept((0..5).map(|_| envelope("mail")).collect()).await;
    let held = bench.lease_wanted(vec![wanted("charge", 10), wanted("send", 10)]).await;
    bench.settled(&held[0], DONE).await;
    bench.pass(HOLD);
    let reclaimed = bench.reclaim(100).await;
    assert_eq!((reclaimed.returned(), reclaimed.moved()), (9, 9));
    assert_eq!(bench.state(held[0].id()).await, DeliveryState::Completed, "that was settled");
    for held in &held[1..] {
        let ready = bench.delivery(held.id()).await;
        assert_eq!((ready.state, ready.attempts), (DeliveryState::Pending, 0));
    }
}

pub async fn only_expired_leases_are_reclaimed(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    let lost = bench.lease("charge", 1).await.remove(0);
    let renewed = bench.lease("charge", 1).await.remove(0);
    bench.pass(SECOND);
    let later = bench.lease("charge", 1).await.remove(0);
    assert!(bench.renew(vec![renewed.token], HOLD).await[0].is_ok(), "it is held");
    bench.now = lost.expires_at;
    assert_eq!(bench.reclaim(10).await.returned(), 1);
    assert_eq!(bench.state(lost.id()).await, DeliveryState::Pending);
    bench.settled(&renewed, DONE).await;
    bench.settled(&later, DONE).await;
}

pub async fn the_limit_of_a_reclaim_holds(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..5).map(|_| envelope("pay")).collect()).await;
    for _ in 0..5 {
        // Leases of one delivery: what a limit means for one of many is the store's business.
        bench.lease("charge", 1).await;
    }
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(0).await, Reclaimed::default(), "nothing is asked for");
    for returned in [2, 2, 1, 0] {
        assert_eq!(bench.reclaim(2).await.returned(), returned);
    }
}

pub async fn a_lease_that_was_reclaimed_in_part_is_lost(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 10).await;
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(2).await.returned(), 2);
    // Renewed, its worker would begin deliveries that are another's by now.
    for held in &held {
        assert_eq!(bench.renew(vec![held.token], HOLD).await, [Err(LeaseLost(held.token))]);
    }
    let states = [
        bench.state(held[0].id()).await,
        bench.state(held[1].id()).await,
        bench.state(held[2].id()).await,
    ];
    let left = states.iter().position(|state| *state == DeliveryState::Processing);
    let left = left.unwrap_or_else(|| panic!("one is held: {states:?}"));
    bench.settled(&held[left], DONE).await;
    assert_eq!(bench.reclaim(10).await, Reclaimed::default(), "nothing is left");
    assert_eq!(bench.lease("charge", 10).await.len(), 2);
}

pub async fn what_is_left_of_a_lease_is_reclaimed_next(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..5).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 10).await;
    bench.pass(HOLD);
    for returned in [2, 2, 1, 0] {
        assert_eq!(bench.reclaim(2).await.returned(), returned);
        bench.renew(vec![held[0].token], HOLD).await;
    }
    assert_eq!(bench.lease("charge", 10).await.len(), 5);
}

pub async fn of_many_reclaims_at_once_each_delivery_is_moved_by_one(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..60).map(|_| envelope("pay")).collect()).await;
    for _ in 0..20 {
        bench.lease("charge", 3).await;
    }
    bench.pass(HOLD);
    let mut reclaiming = Vec::new();
    for _ in 0..4 {
        let bench = bench.other(database, "host").await;
        reclaiming.push(async move {
            let mut moved = 0;
            for _ in 0..10 {
                let call = || bench.store.reclaim(5, Now::At(bench.now));
                moved += patiently("reclaim", call).await.returned();
            }
            moved
        });
    }
    let moved: u64 = all_at_once(reclaiming).await.into_iter().sum();
    let left = bench.reclaim(1_000).await.returned();
    assert_eq!(moved + left, 60, "each is counted once");
    let counts = bench.counts().await;
    assert_eq!((counts.len(), counts[0].count), (1, 60), "all of them are ready: {counts:?}");
}
