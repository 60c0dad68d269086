use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::message::Envelope;
use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, SECOND, delayed, envelope, starting};

pub async fn a_message_without_a_start_is_ready_at_once(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    assert_eq!(bench.state(id).await, DeliveryState::Pending);
    assert_eq!(bench.lease_one("charge").await.id(), id);
}

pub async fn a_delayed_message_waits_to_the_microsecond(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let delay = Duration::from_micros(90_000_001);
    waits_until(bench.clone(), delayed("pay", delay), bench.later(delay)).await;
}

pub async fn a_message_for_a_moment_waits_to_the_microsecond(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let moment = bench.later(Duration::from_micros(1));
    waits_until(bench, starting("pay", moment), moment).await;
}

async fn waits_until(mut bench: Bench, envelope: Envelope, moment: Timestamp) {
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope).await;
    let waiting = bench.delivery(id).await;
    assert_eq!((waiting.state, waiting.due_at), (DeliveryState::Waiting, Some(moment)));
    assert_eq!(waiting.handler_key.as_deref(), Some("charge"), "its route is known");
    assert!(waiting.reason.is_some(), "a waiting delivery says why");

    bench.just_before(moment);
    assert_eq!(bench.promote(10).await, 0, "its moment has not come");
    assert_eq!(bench.lease("charge", 10).await.len(), 0);

    bench.now = moment;
    assert_eq!(bench.promote(10).await, 1, "its moment is now");
    let ready = bench.delivery(id).await;
    assert_eq!((ready.state, ready.due_at), (DeliveryState::Pending, None));
    let delivery = bench.lease_one("charge").await.delivery;
    assert_eq!((delivery.attempt, delivery.carry.retries), (1, 0), "nothing was retried yet");
}

pub async fn a_start_in_the_past_is_ready_at_once(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let now = bench.now.as_micros();
    for past in [now - 1, 0, -1, i64::MIN] {
        let id = bench.accept_one(starting("pay", Timestamp::from_micros(past))).await;
        assert_eq!(bench.state(id).await, DeliveryState::Pending, "started at {past}");
    }
    assert_eq!(bench.lease("charge", 10).await.len(), 4);
}

pub async fn a_start_that_is_now_is_due_now(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept(vec![starting("pay", bench.now), delayed("pay", Duration::ZERO)]).await;
    // Whether it waits for no time or not at all is the store's business.
    bench.promote(10).await;
    assert_eq!(bench.lease("charge", 10).await.len(), 2);
}

pub async fn the_farthest_start_is_never_reached(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let farthest = Timestamp::from_micros(i64::MAX);
    let at = bench.accept_one(starting("pay", farthest)).await;
    let after = bench.accept_one(delayed("pay", Duration::MAX)).await;
    bench.pass(SECOND * 86_400 * 365 * 100);
    assert_eq!(bench.promote(10).await, 0);
    for id in [at, after] {
        let waiting = bench.delivery(id).await;
        assert_eq!(waiting.state, DeliveryState::Waiting);
        assert!(waiting.due_at > Some(bench.now), "it is due at {:?}", waiting.due_at);
    }
}

pub async fn every_handler_of_a_delayed_event_waits(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "ship").await;
    bench.accept_one(delayed("paid", SECOND)).await;
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 2);
    bench.lease_one("book").await;
    bench.lease_one("ship").await;
}
