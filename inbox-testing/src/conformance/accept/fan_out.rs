use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, envelope};

pub async fn every_route_of_the_contract_has_a_delivery(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for (contract, key) in [("paid", "ship"), ("paid", "book"), ("paid", "thank"), ("mail", "send")]
    {
        bench.register(contract, key).await;
    }
    let id = bench.accept_one(envelope("paid")).await;
    let record = bench.show(id).await;
    let keys: Vec<_> = record.deliveries.iter().map(|d| d.handler_key.as_deref()).collect();
    assert_eq!(keys, [Some("book"), Some("ship"), Some("thank")], "sorted by handler key");
    for delivery in record.deliveries {
        assert_eq!(delivery.state, DeliveryState::Pending);
        assert_eq!((delivery.message_id, delivery.contract.as_str()), (id, "paid"));
        assert_eq!((delivery.attempts, delivery.due_at, delivery.settled_at), (0, None, None));
    }
    assert_eq!(bench.lease("send", 10).await.len(), 0, "it is nothing of another contract");
}

pub async fn a_message_without_a_route_waits_for_one(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("mail", "send").await;
    let id = bench.accept_one(envelope("pay")).await;
    let waiting = bench.delivery(id).await;
    assert_eq!((waiting.state, waiting.handler_key), (DeliveryState::Waiting, None));
    assert!(waiting.reason.is_some(), "a waiting delivery says why");
    assert_eq!(waiting.due_at, None, "it waits for no moment");
    assert_eq!(bench.promote(10).await, 0, "time does not help it");
    assert_eq!(bench.lease("send", 10).await.len(), 0);

    bench.register("pay", "charge").await;
    assert_eq!(bench.lease_one("charge").await.id(), id);
}
