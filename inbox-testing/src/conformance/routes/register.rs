use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, all_at_once, delayed, envelope, ids, patiently, route_of,
};

pub async fn what_waited_for_a_route_is_routed_by_registering(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let batch: Vec<_> = (0..250).map(|_| envelope("pay")).collect();
    let waiting: Vec<_> = batch.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(batch).await;
    let other = bench.accept_one(envelope("mail")).await;
    bench.pass(SECOND);
    bench.register("pay", "charge").await;
    let mut held = ids(&bench.lease("charge", 1_000).await);
    held.sort_unstable();
    assert_eq!(held, waiting);
    assert_eq!(bench.delivery(other).await.handler_key, None, "it waits for a route of its own");
}

pub async fn a_delay_goes_on_while_a_message_waits_for_a_route(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let due = bench.later(HOLD);
    let late = bench.accept_one(delayed("pay", HOLD)).await;
    let soon = bench.accept_one(delayed("pay", SECOND)).await;
    bench.pass(SECOND * 2);
    bench.register("pay", "charge").await;
    let waiting = bench.delivery(late).await;
    assert_eq!((waiting.state, waiting.due_at), (DeliveryState::Waiting, Some(due)));
    assert_eq!(waiting.handler_key.as_deref(), Some("charge"));

    bench.promote(10).await;
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), soon, "its delay was over before it had a route");
    bench.now = due;
    assert_eq!(bench.promote(10).await, 1);
    assert_eq!(bench.lease_one("charge").await.id(), late);
}

pub async fn every_handler_that_is_registered_together_gets_what_waited(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    let id = bench.accept_one(envelope("paid")).await;
    let routes = ["book", "ship"].map(|key| route_of("paid", key, &[]));
    bench.register_all(routes.into()).await;
    assert_eq!(bench.show(id).await.deliveries.len(), 2, "and it waits for none any more");
    assert_eq!(bench.lease_one("book").await.id(), id);
    assert_eq!(bench.lease_one("ship").await.id(), id);
}

pub async fn a_later_handler_gets_only_what_is_accepted_from_then_on(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    let (old, done) =
        (bench.accept_one(envelope("paid")).await, bench.accept_one(envelope("paid")).await);
    let held = bench.lease("book", 10).await;
    bench.settled(&held[1], DONE).await;
    bench.register("paid", "ship").await;
    bench.route(100).await;
    for id in [old, done] {
        assert_eq!(bench.delivery(id).await.handler_key.as_deref(), Some("book"));
    }
    let new = bench.accept_one(envelope("paid")).await;
    assert_eq!(bench.lease_one("ship").await.id(), new);
    assert_eq!(bench.lease_one("book").await.id(), new);
}

pub async fn registering_again_changes_nothing(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let old = bench.accept_one(envelope("pay")).await;
    let before = bench.show(old).await;
    for _ in 0..3 {
        let route = route_of("pay", "charge", &[]);
        bench.register_all(vec![route.clone(), route]).await;
    }
    bench.register_all(Vec::new()).await;
    assert_eq!(bench.show(old).await, before);
    let new = bench.accept_one(envelope("pay")).await;
    assert_eq!(bench.show(new).await.deliveries.len(), 1);
}

pub async fn a_fleet_that_starts_at_once_registers_each_route_once(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let waited = bench.accept_one(envelope("pay")).await;
    let mut starting = Vec::new();
    for at in 0..8 {
        let bench = bench.other(database, &format!("host-{at}")).await;
        starting.push(async move {
            let routes = vec![route_of("pay", "charge", &["old-charge"])];
            let now = inbox_core::Now::At(bench.now);
            let call = || bench.store.register_routes(routes.clone(), now);
            patiently("register_routes", call).await;
        });
    }
    all_at_once(starting).await;
    let new = bench.accept_one(envelope("pay")).await;
    for id in [waited, new] {
        assert_eq!(bench.delivery(id).await.handler_key.as_deref(), Some("charge"));
    }
}
