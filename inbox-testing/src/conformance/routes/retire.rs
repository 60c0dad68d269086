use inbox_core::store::{DeliveryState, StoreErrorKind};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, SECOND, delayed, envelope, refused, route_of};

/// The keys that one more message of `pay` is delivered to.
pub(super) async fn keys_of_the_next(bench: &Bench) -> Vec<Option<String>> {
    let id = bench.accept_one(envelope("pay")).await;
    let deliveries = bench.show(id).await.deliveries;
    deliveries.into_iter().map(|delivery| delivery.handler_key).collect()
}

/// One more message of `pay` is for this key alone.
pub(super) async fn only(bench: &Bench, handler_key: &str) {
    assert_eq!(keys_of_the_next(bench).await, [Some(handler_key.to_owned())]);
}

pub async fn a_retired_key_gets_nothing_new_and_keeps_what_it_has(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register_all(vec![route_of("pay", "book", &[]), route_of("pay", "charge", &[])]).await;
    let (ready, late) = (envelope("pay"), delayed("pay", SECOND));
    let ids = [ready.message.id, late.message.id];
    bench.accept(vec![ready, late]).await;
    let known = bench.retire("pay", "charge").await;
    let known: Vec<_> =
        known.iter().map(|route| (route.handler_key.as_str(), route.retired)).collect();
    assert_eq!(known, [("book", false), ("charge", true)]);
    only(&bench, "book").await;

    bench.pass(SECOND);
    bench.promote(10).await;
    for held in bench.lease("charge", 10).await {
        bench.settled(&held, DONE).await;
    }
    for id in ids {
        let state = bench.delivery_of(id, "charge").await.state;
        assert_eq!(state, DeliveryState::Completed, "whoever serves it drains it");
    }
}

pub async fn registering_a_retired_key_does_not_bring_it_back(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register_all(vec![route_of("pay", "book", &[]), route_of("pay", "charge", &[])]).await;
    bench.retire("pay", "charge").await;
    let other = bench.other(database, "host-2").await;
    for bench in [&bench, &other] {
        let known = bench.register_all(vec![route_of("pay", "charge", &[])]).await;
        assert!(known.iter().any(|route| route.handler_key == "charge" && route.retired));
        only(bench, "book").await;
    }
}

pub async fn a_retired_key_supersedes_nothing(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register_all(vec![route_of("pay", "charge-card", &[])]).await;
    bench.retire("pay", "charge-card").await;
    bench.register("pay", "charge").await;
    let renamed = vec![route_of("pay", "charge-card", &["charge", "unheard-of"])];
    bench.register_all(renamed).await;
    only(&bench, "charge").await;
}

pub async fn a_retired_key_can_be_superseded_and_stays_retired(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.retire("pay", "charge").await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    only(&bench, "charge-card").await;
    // What would take the place back from a successor does not undo what an operator did.
    bench.register_all(vec![route_of("pay", "charge", &["charge-card"])]).await;
    only(&bench, "charge-card").await;
}

pub async fn what_nobody_else_takes_waits_until_the_key_is_restored(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.retire("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    let waiting = bench.delivery(id).await;
    assert_eq!((waiting.handler_key, waiting.state), (None, DeliveryState::Waiting));
    assert_eq!(waiting.reason.as_deref(), Some("no-route"));
    bench.register("pay", "charge").await;
    assert_eq!(bench.route(10).await, 0, "it is retired");

    bench.restore("pay", "charge").await;
    assert_eq!(bench.lease_one("charge").await.id(), id, "routed by restoring");
}

pub async fn a_key_without_a_route_is_neither_retired_nor_restored(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register_all(vec![route_of("pay", "book", &[]), route_of("pay", "charge", &[])]).await;
    let (store, now) = (&bench.store, bench.at());
    for (contract, key, fix) in [
        ("pay", "chrage", "write one of `book`, `charge`"),
        ("mail", "charge", "check the contract's name"),
    ] {
        for answer in
            [store.retire(contract, key, now).await, store.restore(contract, key, now).await]
        {
            let error = refused(answer, StoreErrorKind::NoSuchRoute);
            for said in [&format!("`{contract}`"), &format!("`{key}`"), fix] {
                assert!(error.contains(said), "{error}");
            }
        }
    }
    assert_eq!(keys_of_the_next(&bench).await.len(), 2, "nothing was changed");
}

pub async fn a_key_that_takes_another_contract_by_now_is_not_restored(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench.register("mail", "charge").await;
    let answer = bench.store.restore("pay", "charge", bench.at()).await;
    let error = refused(answer, StoreErrorKind::KeyTaken);
    assert!(error.contains("`charge` takes contract `mail`"), "{error}");
    only(&bench, "charge-card").await;
}
