use super::retire::only;
use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, envelope, route_of};

/// `charge` was renamed to `charge-card`.
async fn renamed(database: &dyn TestDatabase) -> Bench {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench
}

pub async fn a_restored_key_takes_its_place_back_from_its_successor(database: &dyn TestDatabase) {
    let bench = renamed(database).await;
    let new = bench.accept_one(envelope("pay")).await;
    let known = bench.restore("pay", "charge").await;
    let known: Vec<_> = known
        .iter()
        .map(|route| (&*route.handler_key, route.superseded_by.as_deref(), route.retired))
        .collect();
    assert_eq!(known, [("charge", None, false), ("charge-card", Some("charge"), true)]);
    only(&bench, "charge").await;
    assert_eq!(bench.lease_one("charge-card").await.id(), new, "what it has, it keeps");
}

pub async fn neither_program_undoes_a_restoration_by_starting_again(database: &dyn TestDatabase) {
    let bench = renamed(database).await;
    bench.restore("pay", "charge").await;
    let other = bench.other(database, "host-2").await;
    for _ in 0..2 {
        other.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
        only(&bench, "charge").await;
        bench.register("pay", "charge").await;
        only(&other, "charge").await;
    }
}

pub async fn to_restore_the_successor_renames_again(database: &dyn TestDatabase) {
    let bench = renamed(database).await;
    bench.restore("pay", "charge").await;
    bench.restore("pay", "charge-card").await;
    only(&bench, "charge-card").await;
    bench.register("pay", "charge").await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    only(&bench, "charge-card").await;
}

pub async fn of_names_of_one_handler_one_takes_what_is_new(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "a").await;
    bench.register_all(vec![route_of("pay", "b", &["a"])]).await;
    bench.register_all(vec![route_of("pay", "c", &["b", "a"])]).await;
    for key in ["b", "a", "c", "a", "b"] {
        bench.restore("pay", key).await;
        only(&bench, key).await;
    }
    // The next one that is written takes over from all of them.
    bench.register_all(vec![route_of("pay", "d", &["a", "b", "c"])]).await;
    only(&bench, "d").await;
}

pub async fn what_takes_new_messages_is_restored_without_effect(database: &dyn TestDatabase) {
    let bench = renamed(database).await;
    let before = bench.routes().await;
    bench.restore("pay", "charge-card").await;
    assert_eq!(bench.routes().await, before);
    bench.restore("pay", "charge").await;
    bench.retire("pay", "charge").await;
    bench.retire("pay", "charge").await;
    bench.restore("pay", "charge").await;
    bench.restore("pay", "charge").await;
    only(&bench, "charge").await;
}
