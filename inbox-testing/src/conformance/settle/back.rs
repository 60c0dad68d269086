use inbox_core::settle::{DeadReason, Settlement};
use inbox_core::store::{DeliveryState, LeaseLost, Settle};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, SECOND, dead, envelope, fail_after, ids, wanted};

pub async fn a_delivery_that_goes_back_is_ready_and_its_attempt_not_counted(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for _ in 0..3 {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.delivery.attempt, 1, "none was counted before");
        bench.settled(&held, Settlement::Release).await;
        let record = bench.show(id).await;
        let ready = &record.deliveries[0];
        assert_eq!((ready.state, ready.attempts), (DeliveryState::Pending, 0));
        assert_eq!((ready.lease_expires_at, ready.settled_at), (None, None));
        assert_eq!(record.attempts, [], "nothing went wrong");
        bench.pass(SECOND);
    }
}

pub async fn what_goes_back_gives_back_one_attempt_and_no_more(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    bench.pass(SECOND);
    bench.promote(10).await;
    bench.settled(&bench.lease_one("charge").await, Settlement::Release).await;
    let again = bench.lease_one("charge").await.delivery;
    assert_eq!((again.attempt, again.carry.retries), (2, 1));
}

pub async fn one_goes_back_and_the_others_of_its_lease_stay_held(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 3).await;
    bench.settled(&held[1], Settlement::Release).await;
    for other in [&held[0], &held[2]] {
        let record = bench.delivery(other.id()).await;
        assert_eq!((record.state, record.attempts), (DeliveryState::Processing, 1));
    }
    let again = bench.lease_one("charge").await;
    assert_eq!(again.id(), held[1].id());
    assert_eq!(bench.settle(&held[1], DONE).await, Err(LeaseLost(held[1].token)));
    for held in [&held[0], &held[2], &again] {
        bench.settled(held, DONE).await;
    }
}

pub async fn some_go_back_in_the_call_that_settles_others(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..6).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 6).await;
    let settlements = [
        Settlement::Release,
        DONE,
        fail_after(SECOND),
        Settlement::Release,
        dead(DeadReason::AttemptsExhausted),
    ];
    let states = settlements.clone().map(|settlement| settlement.state());
    let settles = held.iter().zip(settlements).map(|(held, settlement)| held.settle(settlement));
    assert_eq!(bench.settle_all(settles.collect()).await, [Ok(()); 5]);
    for (held, state) in held.iter().zip(states) {
        let record = bench.show(held.id()).await;
        let went_back = state == DeliveryState::Pending;
        let failed = [DeliveryState::Waiting, DeliveryState::Dead].contains(&state);
        let found = &record.deliveries[0];
        assert_eq!((found.state, found.attempts), (state, u32::from(!went_back)));
        assert_eq!(record.attempts.len(), usize::from(failed), "of what is {state}");
    }
    // In the order in which they went back.
    assert_eq!(ids(&bench.lease("charge", 10).await), [held[0].id(), held[3].id()]);
    bench.settled(&held[5], DONE).await;
}

pub async fn a_quarantined_delivery_that_goes_back_is_quarantined_still(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for _ in 0..2 {
        bench.lease_one("charge").await;
        bench.pass(HOLD);
        bench.reclaim(10).await;
    }
    for _ in 0..2 {
        let leases = bench.leases(bench.request(vec![wanted("charge", 10)])).await;
        assert!(leases[0].quarantined, "its workers vanished");
        assert_eq!(leases[0].deliveries[0].attempt, 1);
        let settlement = Settlement::Release;
        let settle = Settle::by_id(leases[0].token, id, settlement);
        assert_eq!(bench.settle_all(vec![settle]).await, [Ok(())]);
    }
}
