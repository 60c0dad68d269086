use std::num::NonZeroU32;

use inbox_core::message::MessageId;
use inbox_core::settle::DeadReason;
use inbox_core::store::{DeadDelivery, DeliveryState, Reclaimed};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, HOLD, MAX_ATTEMPTS, SECOND, envelope, fail_after, wanted};

const RETURNED: Reclaimed = Reclaimed { returned: 1, dead: Vec::new(), cancelled: 0 };

/// It is dead, and named.
fn dead(message_id: MessageId, attempts: u32) -> Reclaimed {
    let dead = DeadDelivery { message_id, handler_key: "charge".to_owned(), attempts };
    Reclaimed { dead: vec![dead], ..Reclaimed::default() }
}

/// Leases the only delivery, and its worker vanishes.
async fn vanish(bench: &mut Bench, attempt: u32) -> Reclaimed {
    let held = bench.lease_one("charge").await;
    assert_eq!(held.delivery.attempt, attempt, "the attempt that is leased");
    bench.pass(HOLD);
    bench.reclaim(10).await
}

pub async fn a_delivery_that_takes_every_worker_down_is_dead_in_the_end(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    assert_eq!(vanish(&mut bench, 1).await, RETURNED, "the first accuses no one");
    for attempt in 1..MAX_ATTEMPTS {
        assert_eq!(vanish(&mut bench, attempt).await, RETURNED);
        assert_eq!(bench.delivery(id).await.attempts, attempt, "its own expiry counts");
    }
    assert_eq!(vanish(&mut bench, MAX_ATTEMPTS).await, dead(id, MAX_ATTEMPTS));
    let found = bench.delivery(id).await;
    assert_eq!((found.state, found.attempts), (DeliveryState::Dead, MAX_ATTEMPTS));
    assert_eq!(found.reason.as_deref(), Some(DeadReason::LeaseExpired.as_str()));
    assert!(found.error.is_some_and(|error| !error.is_empty()), "it says what went wrong");
    assert_eq!((found.settled_at, found.lease_expires_at), (Some(bench.now), None));
    assert_eq!(bench.lease("charge", 10).await.len(), 0);
}

pub async fn a_worker_that_vanishes_during_the_last_attempt_leaves_nothing_stuck(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for _ in 1..MAX_ATTEMPTS {
        bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
        bench.pass(SECOND);
        bench.promote(10).await;
    }
    assert_eq!(vanish(&mut bench, MAX_ATTEMPTS).await, RETURNED, "it may not have been to blame");
    assert_eq!(vanish(&mut bench, MAX_ATTEMPTS).await, dead(id, MAX_ATTEMPTS));
    assert_eq!(bench.state(id).await, DeliveryState::Dead);
}

pub async fn one_attempt_in_all_is_dead_at_its_own_expiry(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    let mut once = wanted("charge", 1);
    once.max_attempts = NonZeroU32::MIN;
    for expected in [RETURNED, dead(id, 1)] {
        assert_eq!(bench.lease_wanted(vec![once.clone()]).await.len(), 1);
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await, expected);
    }
}

pub async fn the_lease_says_how_many_attempts_there_are(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for attempt in [1, 1, 2] {
        assert_eq!(vanish(&mut bench, attempt).await, RETURNED);
    }
    // A deploy that allows fewer than were made by now.
    let mut fewer = wanted("charge", 1);
    fewer.max_attempts = NonZeroU32::MIN;
    assert_eq!(bench.lease_wanted(vec![fewer]).await[0].delivery.attempt, 3);
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(10).await, dead(id, 3));
}

pub async fn the_neighbours_of_a_deadly_delivery_are_not_accused(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    bench.lease("charge", 10).await;
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(10).await, Reclaimed { returned: 3, ..Reclaimed::default() });
    let deadly = bench.lease_one("charge").await;
    for attempt in 2..=MAX_ATTEMPTS {
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await, RETURNED);
        // Whichever is next, it is one at a time; the deadly one is found by its count.
        let again = loop {
            let held = bench.lease_one("charge").await;
            if held.id() == deadly.id() {
                break held;
            }
            bench.settled(&held, crate::conformance::kit::DONE).await;
        };
        assert_eq!(again.delivery.attempt, attempt);
    }
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(10).await, dead(deadly.id(), MAX_ATTEMPTS));
    assert_eq!(bench.state(deadly.id()).await, DeliveryState::Dead);
}
