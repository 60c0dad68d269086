use inbox_core::message::MessageId;
use inbox_core::settle::DeadReason;
use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, MAX_CRASHES, SECOND, dead, delayed, envelope, fail_after,
};

/// A dead delivery of `charge`, all its attempts made.
async fn given_up(bench: &mut Bench) -> MessageId {
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for _ in 1..MAX_CRASHES {
        bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
        bench.pass(SECOND);
        bench.promote(10).await;
    }
    let last = bench.lease_one("charge").await;
    bench.settled(&last, dead(DeadReason::AttemptsExhausted)).await;
    id
}

pub async fn a_dead_delivery_is_retried_with_all_its_attempts(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let id = given_up(&mut bench).await;
    bench.pass(SECOND);
    assert!(bench.retry(id, "charge").await, "it was dead");
    let ready = bench.delivery(id).await;
    assert_eq!((ready.state, ready.attempts), (DeliveryState::Pending, 0));
    assert_eq!((ready.settled_at, ready.due_at), (None, None));
    for attempt in 1..=MAX_CRASHES {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.delivery.attempt, attempt);
        bench.settled(&held, fail_after(SECOND)).await;
        bench.pass(SECOND);
        bench.promote(10).await;
    }
}

pub async fn what_went_wrong_before_a_retry_is_kept(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let id = given_up(&mut bench).await;
    let before = bench.show(id).await.attempts;
    bench.retry(id, "charge").await;
    // The count starts again, so an attempt of this number is there already.
    bench.pass(SECOND);
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    let after = bench.show(id).await.attempts;
    assert_eq!(after[..before.len()], before);
    assert_eq!((after.len(), after[before.len()].attempt), (before.len() + 1, 1));
}

pub async fn only_a_dead_delivery_is_retried(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let done = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, DONE).await;
    let failed = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(HOLD)).await;
    let held = bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await;
    let delayed = bench.accept_one(delayed("pay", HOLD)).await;
    let ready = bench.accept_one(envelope("pay")).await;
    bench.pass(SECOND);
    for id in [done, failed, held, delayed, ready] {
        let before = bench.show(id).await;
        assert!(!bench.retry(id, "charge").await, "it is not dead: {before:?}");
        assert_eq!(bench.show(id).await, before);
    }
    assert!(!bench.retry(MessageId::new(), "charge").await, "there is no such message");
}

pub async fn a_retry_is_for_one_handler(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "ship").await;
    let id = bench.accept_one(envelope("paid")).await;
    for key in ["book", "ship"] {
        bench.settled(&bench.lease_one(key).await, dead(DeadReason::Undecodable)).await;
    }
    assert!(!bench.retry(id, "thank").await, "no handler of this message");
    assert!(bench.retry(id, "ship").await, "it was dead");
    assert!(!bench.retry(id, "ship").await, "it is not any more");
    assert_eq!(bench.delivery_of(id, "book").await.state, DeliveryState::Dead);
    assert_eq!(bench.delivery_of(id, "ship").await.state, DeliveryState::Pending);
}

pub async fn what_is_retried_can_die_again(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let id = given_up(&mut bench).await;
    bench.retry(id, "charge").await;
    for crashes in 1..=2 + MAX_CRASHES {
        bench.lease_one("charge").await;
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await.dead(), u64::from(crashes == 2 + MAX_CRASHES));
    }
    assert_eq!(bench.state(id).await, DeliveryState::Dead);
}
