use inbox_core::store::Lease;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, SECOND, envelope, ids, wanted};

/// `count` deliveries of `charge` whose worker vanished.
async fn suspects(bench: &mut Bench, count: usize) {
    bench.register("pay", "charge").await;
    bench.accept((0..count).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 100).await;
    assert_eq!(held.len(), count, "one worker held them all");
    bench.pass(HOLD);
    bench.reclaim(100).await;
}

async fn lease_all(bench: &Bench, handler_key: &str) -> Vec<Lease> {
    bench.leases(bench.request(vec![wanted(handler_key, 100)])).await
}

pub async fn a_suspect_is_leased_alone(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    suspects(&mut bench, 3).await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    let before = bench.now;
    let mut seen = 0;
    for host in ["host-2", "host-3", "host-4", "host-5"] {
        let host = bench.other(database, host).await;
        for lease in lease_all(&host, "charge").await {
            let old = lease.deliveries.iter().filter(|d| d.accepted_at < before).count();
            assert!(old == 0 || lease.deliveries.len() == 1, "a suspect shares a lease: {lease:?}");
            assert_eq!(lease.suspect, old == 1, "its worker must know: {lease:?}");
            seen += old;
        }
    }
    assert_eq!(seen, 3, "each found a host");
}

pub async fn a_host_holds_at_most_one_suspect(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let mut other = bench.other(database, "host-2").await;
    suspects(&mut bench, 3).await;
    other.now = bench.now;
    let first = bench.lease_one("charge").await;
    assert_eq!(bench.lease("charge", 10).await.len(), 0, "it holds one");
    assert_eq!(other.lease("charge", 10).await.len(), 1, "another host holds another");
    bench.settled(&first, DONE).await;
    let second = bench.lease_one("charge").await;
    assert_ne!(second.id(), first.id());
    assert_eq!(bench.lease("charge", 10).await.len(), 0, "it holds one again");
}

pub async fn a_host_holds_one_suspect_for_all_its_keys(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "ship").await;
    bench.accept_one(envelope("paid")).await;
    let both = || vec![wanted("book", 10), wanted("ship", 10)];
    assert_eq!(bench.lease_wanted(both()).await.len(), 2);
    bench.pass(HOLD);
    bench.reclaim(10).await;
    assert_eq!(bench.lease_wanted(both()).await.len(), 1, "one of the two");
    assert_eq!(bench.lease_wanted(both()).await.len(), 0);
    assert_eq!(bench.other(database, "host-2").await.lease_wanted(both()).await.len(), 1);
}

pub async fn a_held_suspect_keeps_no_other_delivery_back(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    suspects(&mut bench, 20).await;
    bench.lease_one("charge").await;
    bench.pass(SECOND);
    let id = bench.accept_one(envelope("pay")).await;
    // Behind suspects that this host may not take.
    assert_eq!(ids(&bench.lease("charge", 1).await), [id]);
}

pub async fn the_suspect_that_waited_longest_is_leased_whatever_its_key(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    for (contract, key) in [("paid", "z-last"), ("sent", "a-first")] {
        bench.register(contract, key).await;
        bench.accept_one(envelope(contract)).await;
        assert_eq!(bench.lease(key, 1).await.len(), 1);
        bench.pass(HOLD);
        bench.reclaim(10).await;
    }
    let both = || vec![wanted("a-first", 10), wanted("z-last", 10)];
    for expected in ["z-last", "a-first"] {
        let held = bench.lease_wanted(both()).await;
        let keys: Vec<_> = held.iter().map(|held| held.delivery.handler_key.as_str()).collect();
        assert_eq!(keys, [expected]);
        bench.settled(&held[0], DONE).await;
    }
}
