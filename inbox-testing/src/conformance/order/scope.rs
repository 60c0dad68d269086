use inbox_core::schedule::{Priority, Start};
use inbox_core::store::Wanted;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, SECOND, envelope, ids, of_tenant, ordered, route_of, wanted,
};

pub async fn every_handler_of_an_event_has_lanes_of_its_own(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "mail").await;
    let first = bench.accept_one(ordered("paid", "a")).await;
    let second = bench.accept_one(ordered("paid", "a")).await;
    let booked = bench.lease_one("book").await;
    assert_eq!(bench.lease_one("mail").await.id(), first);
    bench.settled(&booked, DONE).await;
    assert!(bench.lease("mail", 10).await.is_empty());
    assert_eq!(bench.lease_one("book").await.id(), second);
}

pub async fn every_tenant_has_lanes_of_its_own(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for tenant in ["acme", "bolt", ""] {
        for _ in 0..2 {
            let mut envelope = of_tenant(tenant, "pay");
            envelope.message.ordering_key = Some("a".to_owned());
            bench.accept_one(envelope).await;
        }
    }
    assert_eq!(bench.lease_for(&["acme"], "charge", 10).await.len(), 1);
    assert_eq!(bench.lease("charge", 10).await.len(), 2);
    assert!(bench.lease("charge", 10).await.is_empty());
}

pub async fn keys_that_look_alike_are_lanes_apart(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let keys = ["a", "A", "a ", "o'brien", "ä", "a\u{308}", "a/b", "%"];
    let mut expected = Vec::new();
    for key in keys {
        expected.push(bench.accept_one(ordered("pay", key)).await);
    }
    assert_eq!(ids(&bench.lease("charge", 10).await), expected);
}

pub async fn a_renamed_handler_goes_on_in_its_lanes(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    let held = bench.lease_one("charge").await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    all.push(bench.accept_one(ordered("pay", "a")).await);
    assert!(bench.lease("charge-card", 10).await.is_empty(), "the first is at work, as `charge`");
    bench.settled(&held, DONE).await;
    for (key, expected) in [("charge", all[1]), ("charge", all[2]), ("charge-card", all[3])] {
        for other in ["charge", "charge-card"].into_iter().filter(|other| *other != key) {
            assert!(bench.lease(other, 10).await.is_empty(), "it is the turn of one of `{key}`");
        }
        let held = bench.lease_one(key).await;
        assert_eq!(held.id(), expected);
        bench.settled(&held, DONE).await;
    }
}

pub async fn a_lane_knows_no_priorities(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut expected = Vec::new();
    for priority in [Priority::Low, Priority::Urgent, Priority::Normal, Priority::Urgent] {
        let mut envelope = ordered("pay", "a");
        envelope.priority = priority;
        expected.push(bench.accept_one(envelope).await);
    }
    for expected in expected {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), expected);
        bench.settled(&held, DONE).await;
    }
}

pub async fn one_that_is_delayed_takes_its_turn_when_it_is_due(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut later = ordered("pay", "a");
    later.start = Start::After(SECOND);
    let later = bench.accept_one(later).await;
    let first = bench.accept_one(ordered("pay", "a")).await;
    let held = bench.lease_one("charge").await;
    assert_eq!(held.id(), first, "nobody waits for one that is not due");
    bench.pass(SECOND);
    assert_eq!(bench.promote(10).await, 1);
    let last = bench.accept_one(ordered("pay", "a")).await;
    bench.settled(&held, DONE).await;
    for expected in [later, last] {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.id(), expected);
        bench.settled(&held, DONE).await;
    }
}

pub async fn what_is_behind_a_head_that_nobody_reads_is_in_nobodys_way(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let keys: Vec<_> = (0..10).map(|nth| format!("key-{nth}")).collect();
    for key in &keys {
        let mut newer = ordered("pay", key);
        newer.message.version = 2;
        bench.accept_one(newer).await;
    }
    for key in &keys {
        bench.accept_one(ordered("pay", key)).await;
    }
    let free = [ordered("pay", "other"), envelope("pay")];
    let expected: Vec<_> = free.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(free.into()).await;
    // Fewer than those that are in front.
    assert_eq!(ids(&bench.lease("charge", 3).await), expected, "in one call");
    let reads_both = Wanted { versions: vec![1, 2], ..wanted("charge", 100) };
    let heads = bench.lease_wanted(vec![reads_both.clone()]).await;
    assert_eq!(heads.len(), keys.len());
    for head in &heads {
        assert_eq!(head.delivery.message.version, 2, "the order holds");
        bench.settled(head, DONE).await;
    }
    assert_eq!(bench.lease("charge", 100).await.len(), keys.len());
}

pub async fn a_head_that_this_worker_cannot_read_is_left_to_one_that_can(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut newer = ordered("pay", "a");
    newer.message.version = 2;
    let newer = bench.accept_one(newer).await;
    let older = bench.accept_one(ordered("pay", "a")).await;
    assert!(bench.lease("charge", 10).await.is_empty(), "the head is of version 2");
    let reads_both = Wanted { versions: vec![1, 2], ..wanted("charge", 10) };
    let held = bench.lease_wanted(vec![reads_both]).await;
    assert_eq!(ids(&held), [newer]);
    bench.settled(&held[0], DONE).await;
    assert_eq!(bench.lease_one("charge").await.id(), older);
}
