use inbox_core::store::{DeliveryState, StoreErrorKind};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, all_at_once, delayed, envelope, fail_after, patiently, route_of,
    wanted,
};

async fn only(bench: &Bench, handler_key: &str) {
    let id = bench.accept_one(envelope("pay")).await;
    let delivery = bench.delivery(id).await;
    assert_eq!(delivery.handler_key.as_deref(), Some(handler_key), "of all keys");
}

pub async fn a_superseded_key_gets_nothing_new(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    only(&bench, "charge").await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    only(&bench, "charge-card").await;
}

pub async fn what_a_superseded_key_has_is_still_delivered(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let ready = bench.accept_one(envelope("pay")).await;
    let held = bench.lease_one("charge").await;
    bench.accept(vec![envelope("pay"), delayed("pay", SECOND)]).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench.accept_one(envelope("pay")).await;

    bench.settled(&held, fail_after(SECOND)).await;
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 2);
    // A worker that carries the old key asks for it beside its own.
    let held = bench.lease_wanted(vec![wanted("charge-card", 1), wanted("charge", 10)]).await;
    let of = |key: &str| held.iter().filter(|held| held.delivery.handler_key == key).count();
    assert_eq!((of("charge-card"), of("charge")), (1, 3));
    for held in &held {
        bench.settled(held, DONE).await;
    }
    assert_eq!(bench.delivery_of(ready, "charge").await.state, DeliveryState::Completed);
}

pub async fn registering_a_superseded_key_does_not_bring_it_back(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge", "pay-card"])]).await;
    // Programs of the last deploy that start again.
    bench.register("pay", "charge").await;
    bench.other(database, "host-2").await.register("pay", "pay-card").await;
    only(&bench, "charge-card").await;
    bench.pass(HOLD);
    bench.register("pay", "charge-card").await;
    bench.register("pay", "charge").await;
    only(&bench, "charge-card").await;
}

pub async fn a_key_that_supersedes_its_successor_takes_its_place_back(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench.register_all(vec![route_of("pay", "charge", &["charge-card"])]).await;
    only(&bench, "charge").await;
    // And the program in between cannot undo that by starting again.
    bench.register("pay", "charge-card").await;
    only(&bench, "charge").await;
}

pub async fn registering_answers_every_route_of_the_contract(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "book").await;
    bench.register("mail", "send").await;
    let known = bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    let known: Vec<_> = known
        .iter()
        .map(|route| (route.handler_key.as_str(), route.superseded_by.as_deref()))
        .collect();
    assert_eq!(known, [("book", None), ("charge", Some("charge-card")), ("charge-card", None)]);
}

pub async fn a_key_that_takes_another_contract_is_refused_and_nothing_is_registered(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let routes = vec![route_of("mail", "send", &[]), route_of("mail", "charge", &[])];
    let error = match bench.store.register_routes(routes, bench.at()).await {
        Ok(known) => panic!("it was registered: {known:?}"),
        Err(error) => error,
    };
    assert_eq!(error.kind(), StoreErrorKind::KeyTaken, "{error}");
    assert!(error.to_string().contains("`charge` takes contract `pay`"), "{error}");
    let id = bench.accept_one(envelope("mail")).await;
    assert_eq!(bench.delivery(id).await.handler_key, None, "no route");
}

pub async fn the_order_within_a_registration_does_not_matter(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let waited = bench.accept_one(envelope("pay")).await;
    let (old, new) = (route_of("pay", "charge", &[]), route_of("pay", "charge-card", &["charge"]));
    bench.register_all(vec![old.clone(), new.clone()]).await;
    only(&bench, "charge-card").await;
    bench.register_all(vec![new, old]).await;
    only(&bench, "charge-card").await;
    let routed = bench.delivery(waited).await.handler_key;
    assert_eq!(routed.as_deref(), Some("charge-card"), "nor for what had waited");
}

pub async fn superseding_a_key_touches_no_other_contract(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register_all(vec![route_of("mail", "send", &["mail-it"])]).await;
    let waiting = bench.accept_one(envelope("pay")).await;
    bench.register("pay", "charge").await;
    assert_eq!(bench.delivery(waiting).await.handler_key.as_deref(), Some("charge"));
    let mail = bench.accept_one(envelope("mail")).await;
    assert_eq!(bench.delivery(mail).await.handler_key.as_deref(), Some("send"));
}

pub async fn whichever_program_registers_first_the_new_name_takes_what_is_new(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    let (old, new) = (bench.other(database, "host-2").await, bench.other(database, "host-3").await);
    let before = vec![route_of("pay", "charge", &[])];
    let after = vec![route_of("pay", "charge-card", &["charge"])];
    old.register_all(before.clone()).await;
    new.register_all(after.clone()).await;
    only(&old, "charge-card").await;
    // Both fleets start again, each process when it likes.
    let mut starting = Vec::new();
    for at in 0..8 {
        let (store, routes) = match at % 2 {
            0 => (old.store.clone(), before.clone()),
            _ => (new.store.clone(), after.clone()),
        };
        let now = bench.at();
        starting.push(async move {
            let call = || store.register_routes(routes.clone(), now);
            patiently("register_routes", call).await;
        });
    }
    all_at_once(starting).await;
    only(&old, "charge-card").await;
    // Nor does it matter on a store that knows neither.
    for (contract, old_first) in [("refund", true), ("mail", false)] {
        let key = |word: &str| format!("{contract}-{word}");
        let before = vec![route_of(contract, &key("old"), &[])];
        let after = vec![route_of(contract, &key("new"), &[&key("old")])];
        match old_first {
            true => {
                old.register_all(before).await;
                new.register_all(after).await;
            }
            false => {
                new.register_all(after).await;
                old.register_all(before).await;
            }
        }
        let id = bench.accept_one(envelope(contract)).await;
        assert_eq!(bench.delivery(id).await.handler_key, Some(key("new")));
    }
}
