use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, SECOND, envelope, ids, versioned, wanted};

pub async fn the_limit_holds_for_each_key(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("mail", "send").await;
    bench.accept((0..5).map(|_| envelope("pay")).collect()).await;
    bench.accept((0..5).map(|_| envelope("mail")).collect()).await;
    let held = bench.lease_wanted(vec![wanted("charge", 2), wanted("send", 3)]).await;
    let of = |key: &str| held.iter().filter(|held| held.delivery.handler_key == key).count();
    assert_eq!((of("charge"), of("send")), (2, 3));
    assert_eq!(bench.lease("charge", 100).await.len(), 3, "the others are still there");
}

pub async fn only_wanted_keys_are_leased(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "ship").await;
    let id = bench.accept_one(envelope("paid")).await;
    bench.lease_one("book").await;
    let other = bench.delivery_of(id, "ship").await;
    assert_eq!((other.state, other.attempts), (DeliveryState::Pending, 0));
    assert_eq!(bench.lease("boo", 10).await.len(), 0, "a key is not a beginning of one");
    assert_eq!(bench.lease("SHIP", 10).await.len(), 0, "a key is as it is written");
}

pub async fn a_version_that_nobody_reads_costs_no_attempt(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(versioned("pay", 9)).await;
    for _ in 0..3 {
        assert_eq!(bench.lease("charge", 10).await.len(), 0);
        bench.pass(SECOND);
    }
    let left = bench.delivery(id).await;
    assert_eq!((left.state, left.attempts), (DeliveryState::Pending, 0));
    let mut newer = wanted("charge", 10);
    newer.versions = vec![9];
    let held = bench.lease_wanted(vec![newer]).await;
    assert_eq!((ids(&held), held[0].delivery.attempt), (vec![id], 1));
}

pub async fn a_version_that_nobody_reads_keeps_no_other_back(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..50).map(|_| versioned("pay", 9)).collect()).await;
    bench.pass(SECOND);
    let id = bench.accept_one(versioned("pay", 1)).await;
    assert_eq!(ids(&bench.lease("charge", 1).await), [id]);
}

pub async fn every_wanted_version_is_leased(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((1..=4).map(|version| versioned("pay", version)).collect()).await;
    let mut some = wanted("charge", 10);
    some.versions = vec![2, 4, 1];
    let held = bench.lease_wanted(vec![some]).await;
    let mut versions: Vec<_> = held.iter().map(|held| held.delivery.message.version).collect();
    versions.sort_unstable();
    assert_eq!(versions, [1, 2, 4]);
}

pub async fn versions_are_those_of_each_key(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("mail", "send").await;
    bench.accept(vec![versioned("pay", 2), versioned("mail", 1)]).await;
    // Each is of a version that the other key's handler reads.
    let mut second = wanted("send", 10);
    second.versions = vec![2];
    assert_eq!(bench.lease_wanted(vec![wanted("charge", 10), second]).await.len(), 0);
}

pub async fn nothing_wanted_is_nothing_leased(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    assert_eq!(bench.lease_wanted(Vec::new()).await.len(), 0);
    let mut unreadable = wanted("charge", 10);
    unreadable.versions = Vec::new();
    assert_eq!(bench.lease_wanted(vec![unreadable]).await.len(), 0);
    assert_eq!(bench.delivery(id).await.attempts, 0);
}
