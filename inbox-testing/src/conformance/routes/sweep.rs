use inbox_core::Now;
use inbox_core::store::{DeliveryFilter, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, all_at_once, envelope, is_new, patiently, route_of};

pub async fn without_a_route_there_is_nothing_to_route(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("mail", "send").await;
    let id = bench.accept_one(envelope("pay")).await;
    let before = bench.show(id).await;
    assert_eq!(bench.route(100).await, 0);
    assert_eq!(bench.show(id).await, before);
}

pub async fn what_is_routed_is_not_routed_again(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.register("pay", "charge").await;
    bench.route(100).await;
    let before = bench.show(id).await;
    assert_eq!(bench.route(100).await, 0);
    assert_eq!(bench.show(id).await, before);
    assert_eq!(before.deliveries.len(), 1);
}

pub async fn no_acceptance_beside_a_registration_is_forgotten(database: &dyn TestDatabase) {
    const EACH: usize = 20;
    let bench = Bench::open(database).await;
    let mut working = Vec::new();
    for at in 0..4 {
        let bench = bench.other(database, &format!("host-{at}")).await;
        working.push(async move {
            let now = Now::At(bench.now);
            for step in 0..EACH {
                let batch: std::sync::Arc<[_]> = [envelope("pay")].into();
                let call = || bench.store.accept(batch.clone(), now);
                assert!(patiently("accept", call).await.iter().all(is_new), "it is new");
                if at == 3 && step == EACH / 2 {
                    let routes = vec![route_of("pay", "charge", &[])];
                    let call = || bench.store.register_routes(routes.clone(), now);
                    patiently("register_routes", call).await;
                }
            }
        });
    }
    all_at_once(working).await;
    // Fewer than the limit means that nothing is left.
    while bench.route(7).await >= 7 {}
    let all = bench.list(DeliveryFilter::default()).await;
    assert_eq!(all.len(), 4 * EACH);
    for delivery in all {
        assert_eq!(delivery.handler_key.as_deref(), Some("charge"), "{delivery:?}");
        assert_eq!(delivery.state, DeliveryState::Pending);
    }
}
