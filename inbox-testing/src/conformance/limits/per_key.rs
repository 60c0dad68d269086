use super::{per_key, sharing};
use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, envelope, ids, of_tenant};

pub async fn of_one_concurrency_key_no_more_than_the_limit_are_held(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for key in ["x", "x", "x", "y", "x", "y"] {
        all.push(bench.accept_one(sharing("pay", key)).await);
    }
    let held = bench.lease_wanted(vec![per_key("charge", 2)]).await;
    assert_eq!(ids(&held), [all[0], all[1], all[3], all[5]]);
    assert!(other.lease_wanted(vec![per_key("charge", 2)]).await.is_empty());
    bench.settled(&held[0], DONE).await;
    assert_eq!(ids(&other.lease_wanted(vec![per_key("charge", 2)]).await), [all[2]]);
    bench.settled(&held[1], DONE).await;
    assert_eq!(ids(&other.lease_wanted(vec![per_key("charge", 2)]).await), [all[4]]);
    assert!(bench.lease_wanted(vec![per_key("charge", 2)]).await.is_empty());
}

pub async fn what_has_no_concurrency_key_is_not_limited_by_one(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..4).map(|_| envelope("pay")).collect()).await;
    assert_eq!(bench.lease_wanted(vec![per_key("charge", 1)]).await.len(), 4);
}

pub async fn a_concurrency_key_is_a_tenants_own(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for tenant in ["acme", "bolt", "acme"] {
        let mut envelope = of_tenant(tenant, "pay");
        envelope.message.concurrency_key = Some("x".to_owned());
        bench.accept_one(envelope).await;
    }
    assert_eq!(bench.lease_wanted(vec![per_key("charge", 1)]).await.len(), 2);
}

pub async fn many_of_one_key_are_no_obstacle_to_what_comes_after_them(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = bench.accept((0..100).map(|_| sharing("pay", "busy")).collect()).await;
    let other = bench.accept_one(sharing("pay", "idle")).await;
    let held = bench.lease_wanted(vec![per_key("charge", 1)]).await;
    assert_eq!(ids(&held)[1..], [other], "in one call");
    let mut done = 0;
    let mut next = held;
    while !next.is_empty() {
        for held in &next {
            bench.settled(held, DONE).await;
            done += 1;
        }
        next = bench.lease_wanted(vec![per_key("charge", 1)]).await;
    }
    assert_eq!(done, all.len() + 1, "each has had its turn");
}
