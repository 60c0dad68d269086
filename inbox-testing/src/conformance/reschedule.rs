//! *ready or waiting → ready or waiting*.

use std::pin::Pin;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::settle::DeadReason;
use inbox_core::store::DeliveryState;

use super::TestDatabase;
use super::kit::{
    Bench, DONE, HOLD, SECOND, all_at_once, dead, delayed, envelope, fail_after, ids, patiently,
    starting, wanted,
};

pub async fn a_waiting_delivery_gets_another_start(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(delayed("pay", HOLD)).await;
    bench.pass(SECOND);
    let moment = bench.later(SECOND * 7);
    for (start, due_at) in [
        (Start::After(SECOND * 3), bench.later(SECOND * 3)),
        (Start::At(moment), moment),
        (Start::After(HOLD * 2), bench.later(HOLD * 2)),
    ] {
        assert_eq!(bench.reschedule(id, Some("charge"), start).await, 1);
        let waiting = bench.delivery(id).await;
        assert_eq!((waiting.state, waiting.due_at), (DeliveryState::Waiting, Some(due_at)));
    }
    bench.pass(HOLD);
    assert_eq!(bench.promote(10).await, 0, "the first start does not count any more");
    bench.pass(HOLD);
    assert_eq!(bench.promote(10).await, 1);
}

pub async fn a_ready_delivery_is_put_off(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    assert_eq!(bench.reschedule(id, None, Start::After(SECOND)).await, 1);
    assert!(bench.lease("charge", 10).await.is_empty());
    let waiting = bench.delivery(id).await;
    assert_eq!(
        (waiting.state, waiting.due_at),
        (DeliveryState::Waiting, Some(bench.later(SECOND)))
    );
    assert_eq!(waiting.reason.as_deref(), Some("delay"));
    bench.pass(SECOND);
    bench.promote(10).await;
    let held = bench.lease_one("charge").await;
    assert_eq!((held.id(), held.delivery.attempt), (id, 1));
}

pub async fn what_is_rescheduled_for_now_is_ready(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let past = Start::At(bench.now);
    for start in [Start::Immediately, Start::After(Duration::ZERO), past] {
        let id = bench.accept_one(delayed("pay", HOLD)).await;
        assert_eq!(bench.reschedule(id, None, start).await, 1);
        assert_eq!(bench.state(id).await, DeliveryState::Pending, "{start:?}");
        bench.settled(&bench.lease_one("charge").await, DONE).await;
    }
}

pub async fn a_retry_is_brought_forward_and_stays_counted(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(HOLD)).await;
    assert_eq!(bench.reschedule(id, None, Start::After(SECOND)).await, 1);
    let waiting = bench.delivery(id).await;
    assert_eq!((waiting.attempts, waiting.reason.as_deref()), (1, Some("retry")));
    assert!(waiting.error.is_some(), "what went wrong last is still shown");
    assert_eq!(bench.reschedule(id, None, Start::Immediately).await, 1);
    let again = bench.lease_one("charge").await.delivery;
    assert_eq!((again.attempt, again.carry.retries), (2, 1));
}

pub async fn a_quarantined_delivery_that_is_put_off_is_quarantined_still(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for start in [Start::After(SECOND * 2), Start::Immediately] {
        // Its worker vanishes, and each time someone gives it another start.
        bench.lease_one("charge").await;
        bench.pass(HOLD);
        bench.reclaim(10).await;
        assert_eq!(bench.reschedule(id, None, start).await, 1);
        bench.pass(SECOND * 2);
        bench.promote(10).await;
    }
    let request = bench.request(vec![wanted("charge", 10)]);
    let leases = bench.leases(request).await;
    assert!(leases[0].quarantined, "two workers vanished with it");
    assert_eq!(leases[0].deliveries[0].attempt, 1, "which is not counted");
}

pub async fn what_is_held_or_settled_is_not_rescheduled(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let done = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, DONE).await;
    let given_up = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, dead(DeadReason::Undecodable)).await;
    let cancelled = bench.accept_one(envelope("pay")).await;
    bench.cancel(cancelled, None).await;
    let held = bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await;
    bench.pass(SECOND);
    for id in [done, given_up, cancelled, held] {
        let before = bench.show(id).await;
        assert_eq!(bench.reschedule(id, None, Start::Immediately).await, 0);
        assert_eq!(bench.show(id).await, before);
    }
    assert_eq!(bench.reschedule(MessageId::new(), None, Start::Immediately).await, 0);
}

pub async fn a_message_without_a_route_keeps_its_new_start(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let late = bench.accept_one(envelope("pay")).await;
    let soon = bench.accept_one(starting("pay", bench.later(HOLD))).await;
    assert_eq!(bench.reschedule(late, None, Start::After(SECOND * 2)).await, 1);
    assert_eq!(bench.reschedule(soon, None, Start::Immediately).await, 1);
    for id in [late, soon] {
        let waiting = bench.delivery(id).await;
        assert_eq!((waiting.state, waiting.handler_key), (DeliveryState::Waiting, None));
    }
    bench.register("pay", "charge").await;
    assert_eq!(bench.lease_one("charge").await.id(), soon);
    bench.pass(SECOND * 2);
    bench.promote(10).await;
    assert_eq!(bench.lease_one("charge").await.id(), late);
}

pub async fn a_rescheduling_is_for_one_handler_or_for_all(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for key in ["book", "ship"] {
        bench.register("paid", key).await;
    }
    let id = bench.accept_one(envelope("paid")).await;
    assert_eq!(bench.reschedule(id, Some("ship"), Start::After(SECOND)).await, 1);
    assert_eq!(bench.delivery_of(id, "book").await.state, DeliveryState::Pending);
    assert_eq!(bench.delivery_of(id, "ship").await.state, DeliveryState::Waiting);
    assert_eq!(bench.reschedule(id, Some("thank"), Start::Immediately).await, 0);
    assert_eq!(bench.reschedule(id, None, Start::Immediately).await, 2);
    for key in ["book", "ship"] {
        assert_eq!(ids(&bench.lease(key, 10).await), [id]);
    }
}

pub async fn a_rescheduling_that_meets_a_promotion_is_not_lost(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let envelopes: Vec<_> = (0..40).map(|_| delayed("pay", SECOND)).collect();
    let ids: Vec<_> = envelopes.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(envelopes).await;
    bench.pass(SECOND);
    let mut meeting: Vec<Pin<Box<dyn Future<Output = u64> + Send>>> = Vec::new();
    let promoter = bench.other(database, "promoter").await;
    meeting.push(Box::pin(async move {
        for _ in 0..20 {
            patiently("promote", || promoter.store.promote(3, Now::At(promoter.now))).await;
        }
        0
    }));
    let other = bench.other(database, "other").await;
    meeting.push(Box::pin(async move {
        let mut moved = 0;
        for id in ids {
            let start = Start::After(HOLD);
            let call = || other.store.reschedule(id, None, start, Now::At(other.now));
            moved += patiently("reschedule", call).await;
        }
        moved
    }));
    let moved: u64 = all_at_once(meeting).await.into_iter().sum();
    assert_eq!(moved, 40, "each was ready or waiting all the time");
    assert_eq!(bench.promote(100).await, 0, "none is due any more");
    assert!(bench.lease("charge", 100).await.is_empty());
}
