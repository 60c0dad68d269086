use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, Settlement};
use inbox_core::store::{Cancelled, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, dead, delayed, envelope, fail_after, is_new, keyed,
};

const ONE: Cancelled = Cancelled { at_once: 1, asked: 0 };
const NONE: Cancelled = Cancelled { at_once: 0, asked: 0 };

pub async fn a_ready_delivery_is_cancelled_at_once(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.pass(SECOND);
    assert_eq!(bench.cancel(id, None).await, ONE);
    let record = bench.show(id).await;
    let done = &record.deliveries[0];
    assert_eq!((done.state, done.attempts), (DeliveryState::Cancelled, 0));
    assert_eq!(done.settled_at, Some(bench.now));
    assert_eq!(record.attempts, [], "nothing went wrong");
    assert!(bench.lease("charge", 10).await.is_empty(), "no handler sees it");
}

pub async fn a_waiting_delivery_is_cancelled_at_once(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let delayed = bench.accept_one(delayed("pay", SECOND)).await;
    let failed = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    for (id, attempts) in [(delayed, 0), (failed, 1)] {
        assert_eq!(bench.cancel(id, Some("charge")).await, ONE);
        let done = bench.delivery(id).await;
        assert_eq!((done.state, done.attempts), (DeliveryState::Cancelled, attempts));
        assert_eq!(done.due_at, None, "it waits for nothing");
    }
    assert_eq!(bench.show(failed).await.attempts.len(), 1, "what went wrong is kept");
    bench.pass(HOLD);
    assert_eq!(bench.promote(10).await, 0, "their time does not come");
}

pub async fn a_message_without_a_route_is_cancelled_and_never_routed(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let ids = [bench.accept_one(envelope("pay")).await, bench.accept_one(envelope("pay")).await];
    assert_eq!(bench.cancel(ids[0], Some("charge")).await, NONE, "no handler is known for it");
    assert_eq!(bench.cancel(ids[0], None).await, ONE);
    let done = bench.delivery(ids[0]).await;
    assert_eq!((done.state, done.handler_key), (DeliveryState::Cancelled, None));
    bench.register("pay", "charge").await;
    assert_eq!(bench.lease_one("charge").await.id(), ids[1]);
}

pub async fn a_cancellation_is_for_one_handler_or_for_all(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for key in ["book", "ship", "thank"] {
        bench.register("paid", key).await;
    }
    let id = bench.accept_one(envelope("paid")).await;
    let other = bench.accept_one(envelope("paid")).await;
    assert_eq!(bench.cancel(id, Some("ship")).await, ONE);
    assert_eq!(bench.delivery_of(id, "book").await.state, DeliveryState::Pending);
    assert_eq!(bench.cancel(id, None).await, Cancelled { at_once: 2, asked: 0 });
    for (id, state) in [(id, DeliveryState::Cancelled), (other, DeliveryState::Pending)] {
        let deliveries = bench.show(id).await.deliveries;
        assert!(deliveries.iter().all(|delivery| delivery.state == state), "{deliveries:?}");
    }
}

pub async fn what_is_settled_is_not_cancelled(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut settled = Vec::new();
    let expired = Settlement::Done(DoneOutcome::Expired);
    for settlement in [DONE, expired, dead(DeadReason::Undecodable)] {
        settled.push(bench.accept_one(envelope("pay")).await);
        bench.settled(&bench.lease_one("charge").await, settlement).await;
    }
    settled.push(bench.accept_one(envelope("pay")).await);
    bench.cancel(settled[3], None).await;
    bench.pass(SECOND);
    for id in settled {
        let before = bench.show(id).await;
        assert_eq!(bench.cancel(id, None).await, NONE);
        assert_eq!(bench.cancel(id, Some("charge")).await, NONE);
        assert_eq!(bench.show(id).await, before);
    }
    assert_eq!(bench.cancel(MessageId::new(), None).await, NONE, "there is no such message");
}

pub async fn a_key_is_remembered_after_its_message_is_cancelled(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(keyed("pay", "42")).await;
    bench.cancel(id, None).await;
    let again = bench.accept(vec![keyed("pay", "42")]).await;
    assert!(!is_new(&again[0]), "it was accepted, and then cancelled");
    assert!(bench.lease("charge", 10).await.is_empty());
}
