use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, Settlement};
use inbox_core::store::{DeliveryRecord, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, Held, SECOND, dead, envelope, fail_after, failure};

/// One leased delivery, a second after it was leased.
async fn held(bench: &mut Bench) -> Held {
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let held = bench.lease_one("charge").await;
    bench.pass(SECOND);
    held
}

/// A record of the first attempt, settled now for good.
fn settled(bench: &Bench, message_id: MessageId, state: DeliveryState) -> DeliveryRecord {
    DeliveryRecord {
        message_id,
        handler_key: Some("charge".to_owned()),
        contract: "pay".to_owned(),
        state,
        attempts: 1,
        due_at: None,
        lease_expires_at: None,
        settled_at: Some(bench.now),
        reason: None,
        error: None,
    }
}

pub async fn a_completed_delivery_is_done(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&mut bench).await;
    bench.settled(&held, DONE).await;
    let record = bench.show(held.id()).await;
    assert_eq!(record.deliveries, [settled(&bench, held.id(), DeliveryState::Completed)]);
    assert_eq!(record.attempts, [], "a success is no failed attempt");
}

pub async fn an_expired_delivery_is_done(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&mut bench).await;
    bench.settled(&held, Settlement::Done(DoneOutcome::Expired)).await;
    let record = bench.show(held.id()).await;
    assert_eq!(record.deliveries, [settled(&bench, held.id(), DeliveryState::Expired)]);
}

pub async fn a_dead_delivery_says_why(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    for reason in [DeadReason::AttemptsExhausted, DeadReason::Undecodable, DeadReason::Unreadable] {
        let held = held(&mut bench).await;
        bench.settled(&held, dead(reason)).await;
        let expected = DeliveryRecord {
            reason: Some(reason.as_str().to_owned()),
            error: Some(failure().text),
            ..settled(&bench, held.id(), DeliveryState::Dead)
        };
        assert_eq!(bench.delivery(held.id()).await, expected);
    }
}

pub async fn a_retry_waits_exactly_as_long_as_it_says(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&mut bench).await;
    let after = Duration::from_micros(30_000_001);
    let due = bench.later(after);
    bench.settled(&held, fail_after(after)).await;
    let waiting = bench.delivery(held.id()).await;
    assert!(waiting.reason.is_some(), "a waiting delivery says why");
    let expected = DeliveryRecord {
        due_at: Some(due),
        settled_at: None,
        reason: waiting.reason.clone(),
        error: Some(failure().text),
        ..settled(&bench, held.id(), DeliveryState::Waiting)
    };
    assert_eq!(waiting, expected);

    bench.just_before(due);
    assert_eq!(bench.promote(10).await, 0, "its moment has not come");
    bench.now = due;
    assert_eq!(bench.promote(10).await, 1, "its moment is now");
    let ready = bench.delivery(held.id()).await;
    assert_eq!((ready.state, ready.attempts), (DeliveryState::Pending, 1));
    assert_eq!((ready.due_at, ready.settled_at), (None, None));
    assert_eq!(bench.lease_one("charge").await.delivery.attempt, 2);
}

pub async fn a_retry_after_no_time_is_due_now(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&mut bench).await;
    bench.settled(&held, fail_after(Duration::ZERO)).await;
    bench.promote(10).await;
    assert_eq!(bench.lease_one("charge").await.delivery.attempt, 2);
}

pub async fn the_longest_retry_is_never_due(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&mut bench).await;
    bench.settled(&held, fail_after(Duration::MAX)).await;
    bench.pass(SECOND * 86_400 * 365 * 100);
    assert_eq!(bench.promote(10).await, 0);
    let waiting = bench.delivery(held.id()).await;
    assert_eq!(waiting.state, DeliveryState::Waiting);
    assert!(waiting.due_at > Some(bench.now), "it is due at {:?}", waiting.due_at);
}

pub async fn each_handler_of_an_event_settles_on_its_own(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for key in ["book", "ship", "thank"] {
        bench.register("paid", key).await;
    }
    let id = bench.accept_one(envelope("paid")).await;
    let (book, ship) = (bench.lease_one("book").await, bench.lease_one("ship").await);
    bench.settled(&book, DONE).await;
    bench.settled(&ship, dead(DeadReason::AttemptsExhausted)).await;
    let record = bench.show(id).await;
    let states: Vec<_> = record.deliveries.iter().map(|delivery| delivery.state).collect();
    let expected = [DeliveryState::Completed, DeliveryState::Dead, DeliveryState::Pending];
    assert_eq!(states, expected);
}
