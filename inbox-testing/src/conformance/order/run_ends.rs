//! What a run ends before: the first delivery that this worker may not take with the others.

use inbox_core::settle::Settlement;
use inbox_core::store::{LaneFilter, LeaseRequest, Wanted};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, accept_lane, drain, ids, ordered, route_of, run_of, running,
};

pub async fn a_run_covers_all_keys_of_its_handler(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = accept_lane(&bench, 2).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    all.extend(accept_lane(&bench, 2).await);
    let both = ["charge-card", "charge"].map(|key| running(key, 9, 9, 9)).to_vec();
    let held = bench.lease_wanted(both).await;
    assert_eq!(ids(&held), all, "in one run");
    assert!(held.iter().all(|one| one.claimed_for == held[0].claimed_for), "in one lease");
    let keys: Vec<_> = held.iter().map(|one| &*one.delivery.handler_key).collect();
    assert_eq!(keys, ["charge", "charge", "charge-card", "charge-card"], "each has its own");
    for one in &held {
        bench.settled(one, DONE).await;
    }
}

pub async fn a_run_ends_before_a_key_that_its_worker_does_not_serve(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = accept_lane(&bench, 2).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    all.extend(accept_lane(&bench, 2).await);
    assert!(bench.lease_wanted(vec![running("charge-card", 9, 9, 9)]).await.is_empty());
    let held = run_of(&bench, 9).await;
    assert_eq!(ids(&held), all[..2]);
    assert!(bench.lease_wanted(vec![running("charge-card", 9, 9, 9)]).await.is_empty());
    for one in &held {
        bench.settled(one, DONE).await;
    }
    assert!(run_of(&bench, 9).await.is_empty());
    let held = bench.lease_wanted(vec![running("charge-card", 9, 9, 9)]).await;
    assert_eq!(ids(&held), all[2..]);
}

pub async fn a_run_ends_before_a_version_that_its_worker_cannot_read(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let newer = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for version in [1, 1, 2, 1, 2, 1] {
        let mut envelope = ordered("pay", "a");
        envelope.message.version = version;
        all.push(bench.accept_one(envelope).await);
    }
    let reads_both = Wanted { versions: vec![1, 2], ..running("charge", 9, 9, 3) };
    let held = run_of(&bench, 9).await;
    assert_eq!(ids(&held), all[..2]);
    assert!(newer.lease_wanted(vec![reads_both.clone()]).await.is_empty(), "they are held");
    for one in &held {
        bench.settled(one, DONE).await;
    }
    assert!(run_of(&bench, 9).await.is_empty(), "the next is of version 2");
    let free = bench.accept_one(ordered("pay", "b")).await;
    assert_eq!(drain(&bench, vec![running("charge", 1, 1, 9)]).await, [free]);
    let held = newer.lease_wanted(vec![reads_both.clone()]).await;
    assert_eq!(ids(&held), all[2..5], "the other worker goes on from there");
    for one in &held {
        newer.settled(one, DONE).await;
    }
    assert_eq!(ids(&run_of(&bench, 9).await), all[5..]);
}

pub async fn workers_of_different_versions_take_turns_in_the_middle_of_a_lane(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    let newer = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for version in [1, 1, 2, 1, 2] {
        let mut envelope = ordered("pay", "a");
        envelope.message.version = version;
        all.push(bench.accept_one(envelope).await);
    }
    let of_newer = Wanted { versions: vec![1, 2], ..running("charge", 9, 9, 1) };
    let of_newer = || newer.lease_wanted(vec![of_newer.clone()]);
    for (run, is_newer) in [(0..2, false), (2..3, true), (3..4, false), (4..5, true)] {
        let held = match is_newer {
            true => {
                assert!(run_of(&bench, 9).await.is_empty(), "the next is of version 2");
                of_newer().await
            }
            false => run_of(&bench, 9).await,
        };
        assert_eq!(ids(&held), all[run]);
        for one in &held {
            assert!(run_of(&bench, 9).await.is_empty(), "{:?} is held", one.id());
            assert!(of_newer().await.is_empty(), "{:?} is held", one.id());
            bench.settled(one, DONE).await;
        }
    }
    assert!(bench.lanes(LaneFilter::default()).await.is_empty(), "the lane has ended");
    assert_eq!(bench.mend(10).await, 0, "nothing was left behind");
}

pub async fn a_quarantined_delivery_is_a_run_of_its_own(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 4).await;
    bench.settled(&run_of(&bench, 1).await[0], DONE).await;
    for _ in 0..2 {
        assert_eq!(ids(&run_of(&bench, 1).await), all[1..2]);
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await.returned(), 1);
    }
    let request = bench.request(vec![running("charge", 9, 9, 9)]);
    let unasked = LeaseRequest { quarantine: None, ..request.clone() };
    assert!(bench.leases(unasked).await.is_empty(), "nothing passes it");
    let leases = bench.leases(request).await;
    let [one] = leases.as_slice() else { panic!("one lease: {leases:?}") };
    assert!(one.quarantined && one.deliveries.len() == 1, "{one:?}");
    assert_eq!(one.deliveries[0].message.id, all[1]);
    assert!(run_of(&bench, 9).await.is_empty(), "it is held");
    assert_eq!(bench.release(vec![one.token]).await, 1);
    assert_eq!(drain(&bench, vec![running("charge", 9, 9, 9)]).await, all[1..]);
}

pub async fn a_run_ends_before_a_quarantined_delivery(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = accept_lane(&bench, 4).await;
    for _ in 0..2 {
        // The first is given back, so it is the second that its worker vanished with.
        let held = run_of(&bench, 4).await;
        assert_eq!(ids(&held), all);
        bench.settled(&held[0], Settlement::Release).await;
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await.returned(), 3);
    }
    for expected in [&all[..1], &all[1..2], &all[2..]] {
        let held = run_of(&bench, 4).await;
        assert_eq!(ids(&held), expected);
        for one in &held {
            bench.settled(one, DONE).await;
        }
    }
}
