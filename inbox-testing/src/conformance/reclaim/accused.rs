use std::num::NonZeroU32;

use inbox_core::message::MessageId;
use inbox_core::settle::DeadReason;
use inbox_core::store::{DeliveryState, LeaseRequest, Wanted};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, MAX_CRASHES, SECOND, envelope, fail_after, wanted,
};

/// The workers that vanish with a delivery until it is dead: the first two accuse nobody.
const DEADLY: u32 = 2 + MAX_CRASHES;

/// Leases the only delivery, its worker vanishes, and the delivery is in `state`.
async fn vanish(bench: &mut Bench, attempt: u32, crashes: u32, state: DeliveryState) {
    let held = bench.lease_one("charge").await;
    assert_eq!(held.delivery.attempt, attempt, "the attempt that is leased");
    bench.pass(HOLD);
    let reclaimed = bench.reclaim(10).await.deliveries;
    let [one] = reclaimed.as_slice() else { panic!("one was held: {reclaimed:?}") };
    assert_eq!((one.message_id, &*one.handler_key, &one.host), (held.id(), "charge", &bench.host));
    assert_eq!((one.attempts, one.crashes, one.state), (attempt - 1, crashes, state));
    assert_eq!(bench.delivery(held.id()).await.attempts, attempt - 1, "it is not counted");
}

async fn one(bench: &Bench) -> MessageId {
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await
}

pub async fn a_delivery_that_takes_every_worker_down_is_dead_in_the_end(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    let id = one(&bench).await;
    for crashes in 1..DEADLY {
        vanish(&mut bench, 1, crashes, DeliveryState::Pending).await;
    }
    vanish(&mut bench, 1, DEADLY, DeliveryState::Dead).await;
    let found = bench.delivery(id).await;
    assert_eq!(found.reason.as_deref(), Some(DeadReason::LeaseExpired.as_str()));
    assert!(found.error.is_some_and(|error| !error.is_empty()), "it says what went wrong");
    assert_eq!((found.settled_at, found.lease_expires_at), (Some(bench.now), None));
    assert_eq!(bench.lease("charge", 10).await.len(), 0);
}

pub async fn every_vanished_attempt_is_recorded_with_its_host(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let id = one(&bench).await;
    for crashes in 1..=DEADLY {
        let held = bench.lease_one("charge").await;
        bench.pass(HOLD);
        bench.reclaim(10).await;
        let attempts = bench.show(id).await.attempts;
        assert_eq!(attempts.len(), crashes as usize);
        let last = &attempts[attempts.len() - 1];
        assert_eq!((last.attempt, last.host.as_deref()), (1, Some(&*bench.host)));
        assert_eq!((last.leased_at, last.settled_at), (held.leased_at, bench.now));
        assert_eq!(last.error_type, DeadReason::LeaseExpired.as_str());
    }
}

pub async fn attempts_that_failed_and_workers_that_vanished_are_counted_apart(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    let id = one(&bench).await;
    for attempt in 1..=3 {
        for crashes in 1..DEADLY {
            vanish(&mut bench, attempt, crashes, DeliveryState::Pending).await;
        }
        bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
        bench.pass(SECOND);
        bench.promote(10).await;
    }
    assert_eq!(bench.delivery(id).await.attempts, 3);
}

pub async fn the_lease_says_how_many_workers_may_vanish(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    for most in [1, 2, 4] {
        let id = one(&bench).await;
        let max_crashes = NonZeroU32::MIN.saturating_add(most - 1);
        for crashes in 1..=2 + most {
            let wanted = Wanted { max_crashes, ..wanted("charge", 1) };
            assert_eq!(bench.lease_wanted(vec![wanted]).await.len(), 1);
            bench.pass(HOLD);
            let reclaimed = bench.reclaim(10).await;
            assert_eq!(
                reclaimed.dead(),
                u64::from(crashes == 2 + most),
                "of {most}: {reclaimed:?}"
            );
        }
        assert_eq!(bench.state(id).await, DeliveryState::Dead);
    }
}

pub async fn nobody_is_dead_who_was_held_with_others(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..2).map(|_| envelope("pay")).collect()).await;
    let both = || Wanted { max_crashes: NonZeroU32::MIN, ..wanted("charge", 10) };
    let two = NonZeroU32::new(2);
    for crashes in 1..=3 {
        let request = bench.request(vec![both()]);
        let held = bench.lease_requested(LeaseRequest { quarantine: two, ..request }).await;
        assert_eq!(held.len(), 2);
        bench.pass(HOLD);
        let reclaimed = bench.reclaim(10).await;
        assert_eq!(reclaimed.returned(), 2, "after {crashes}: {reclaimed:?}");
    }
    for _ in 0..2 {
        assert_eq!(bench.lease_wanted(vec![both()]).await.len(), 1);
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await.dead(), 1, "alone, it is accused");
    }
}

pub async fn the_neighbours_of_a_deadly_delivery_are_not_accused(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    for _ in 0..2 {
        assert_eq!(bench.lease("charge", 10).await.len(), 3);
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await.returned(), 3);
    }
    let one = || Wanted { max_crashes: NonZeroU32::MIN, ..wanted("charge", 10) };
    let deadly = bench.lease_wanted(vec![one()]).await.remove(0);
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(10).await.dead(), 1);
    for _ in 0..2 {
        let neighbour = bench.lease_one("charge").await;
        assert_eq!(neighbour.delivery.attempt, 1, "it was charged nothing");
        bench.settled(&neighbour, DONE).await;
    }
    assert_eq!(bench.state(deadly.id()).await, DeliveryState::Dead);
}
