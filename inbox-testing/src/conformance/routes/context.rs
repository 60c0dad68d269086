use inbox_core::store::{Route, StoreError, StoreErrorKind};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, envelope, route_of};

fn of(context: &str, contract: &str, handler_key: &str) -> Route {
    Route { context: context.to_owned(), ..route_of(contract, handler_key, &[]) }
}

async fn refused(bench: &Bench, routes: Vec<Route>) -> StoreError {
    let error = match bench.store.register_routes(routes, bench.at()).await {
        Ok(known) => panic!("they were registered: {known:?}"),
        Err(error) => error,
    };
    assert_eq!(error.kind(), StoreErrorKind::ContextTaken, "{error}");
    error
}

async fn has_no_route(bench: &Bench, contract: &str) {
    let id = bench.accept_one(envelope(contract)).await;
    assert_eq!(bench.delivery(id).await.handler_key, None, "`{contract}` has no route");
}

pub async fn routes_of_another_context_are_refused_and_nothing_is_registered(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    bench.register_all(vec![of("shipping", "ship", "pack")]).await;
    let other = bench.other(database, "host-2").await;
    for contract in ["pay", "ship"] {
        let error = refused(&other, vec![of("billing", contract, "charge")]).await.to_string();
        for said in ["context `billing`", "context `shipping`", "handler key `pack`"] {
            assert!(error.contains(said), "{error}");
        }
        for fix in ["`PostgresOptions::schema`", "column `context` of table `route`"] {
            assert!(error.contains(fix), "{error}");
        }
    }
    has_no_route(&bench, "pay").await;
    let id = bench.accept_one(envelope("ship")).await;
    assert_eq!(bench.delivery(id).await.handler_key.as_deref(), Some("pack"));
}

pub async fn routes_of_two_contexts_are_not_registered_together(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    refused(&bench, vec![of("billing", "pay", "charge"), of("shipping", "ship", "pack")]).await;
    has_no_route(&bench, "pay").await;
    has_no_route(&bench, "ship").await;
    bench.register_all(vec![of("shipping", "ship", "pack")]).await;
}

pub async fn what_has_no_context_is_not_of_one(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let error = refused(&bench, vec![of("billing", "pay", "charge")]).await;
    assert!(error.to_string().contains("handler key `charge` of no context"), "{error}");
    bench.register("mail", "send").await;
}

pub async fn a_superseded_route_of_another_context_counts_too(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let mut route = of("billing", "pay", "charge-card");
    route.supersedes = vec!["charge".to_owned()];
    bench.register_all(vec![route]).await;
    refused(&bench, vec![of("shipping", "pay", "charge")]).await;
    bench.register_all(vec![of("billing", "pay", "charge")]).await;
}

pub async fn the_same_context_registers_again_and_more(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for host in ["host-2", "host-3"] {
        let host = bench.other(database, host).await;
        let routes = [of("billing", "pay", "charge"), of("billing", "mail", "send")];
        assert_eq!(host.register_all(routes.into()).await.len(), 2);
    }
    bench.register_all(vec![of("billing", "refund", "pay-back")]).await;
    for (contract, key) in [("pay", "charge"), ("refund", "pay-back")] {
        bench.accept_one(envelope(contract)).await;
        bench.lease_one(key).await;
    }
}

pub async fn registering_nothing_meets_no_other_context(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register_all(Vec::new()).await;
    bench.register_all(vec![of("billing", "pay", "charge")]).await;
    assert_eq!(bench.register_all(Vec::new()).await, []);
}
