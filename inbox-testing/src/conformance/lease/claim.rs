use std::collections::BTreeSet;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::Delivery;
use inbox_core::settle::DeadReason;
use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, DONE, HOLD, SECOND, all_at_once, dead, delayed, envelope, fail_after, patiently, wanted,
};

pub async fn a_lease_says_since_when_and_until_when_it_holds(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.pass(SECOND);
    let held = bench.lease_one("charge").await;
    assert_eq!((held.leased_at, held.expires_at), (bench.now, bench.later(HOLD)));
    let record = bench.delivery(id).await;
    assert_eq!((record.state, record.attempts), (DeliveryState::Processing, 1));
    assert_eq!(record.lease_expires_at, Some(held.expires_at));
    assert_eq!((record.due_at, record.settled_at), (None, None));
}

pub async fn every_lease_is_an_attempt_more(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for attempt in 1..=3 {
        let held = bench.lease_one("charge").await;
        assert_eq!(held.delivery.attempt, attempt);
        assert_eq!(held.delivery.carry.retries, attempt - 1, "it came back after waiting");
        assert_eq!(bench.delivery(id).await.attempts, attempt);
        bench.settled(&held, fail_after(SECOND)).await;
        bench.pass(SECOND);
        bench.promote(10).await;
    }
}

pub async fn a_held_delivery_is_not_leased_again(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await;
    assert_eq!(bench.lease("charge", 10).await.len(), 0);
    assert_eq!(other.lease("charge", 10).await.len(), 0);
    // Expired, it is nobody's until it is reclaimed.
    bench.pass(HOLD * 2);
    assert_eq!(bench.lease("charge", 10).await.len(), 0);
    bench.reclaim(10).await;
    bench.lease_one("charge").await;
}

pub async fn only_what_is_ready_is_leased(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    for settlement in [DONE, dead(DeadReason::Undecodable), fail_after(SECOND)] {
        bench.accept_one(envelope("pay")).await;
        bench.settled(&bench.lease_one("charge").await, settlement).await;
    }
    bench.accept_one(delayed("pay", SECOND)).await;
    bench.accept_one(envelope("unrouted")).await;
    bench.pass(SECOND * 10);
    assert_eq!(bench.lease("charge", 10).await.len(), 0);
    assert_eq!(bench.promote(10).await, 2, "two of them were due");
    assert_eq!(bench.lease("charge", 10).await.len(), 2);
}

pub async fn no_two_calls_share_a_token(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..10).map(|_| envelope("pay")).collect()).await;
    let mut tokens = BTreeSet::new();
    for _ in 0..10 {
        assert!(tokens.insert(bench.lease("charge", 1).await[0].token), "a token came twice");
    }
}

pub async fn the_longest_lease_does_not_expire(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let mut request = bench.request(vec![wanted("charge", 1)]);
    request.duration = Duration::MAX;
    let leases = bench.leases(request).await;
    bench.pass(SECOND * 86_400 * 365 * 100);
    assert!(leases[0].expires_at > bench.now, "it holds until {:?}", leases[0].expires_at);
    assert_eq!(bench.reclaim(10).await.returned(), 0);
}

pub async fn two_workers_never_hold_the_same_delivery(database: &dyn TestDatabase) {
    const MESSAGES: usize = 60;
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut workers = Vec::new();
    for at in 0..4 {
        workers.push(bench.other(database, &format!("host-{at}")).await);
    }
    // Many short races rather than a long one: it is at the start that all of them meet.
    for _ in 0..10 {
        bench.accept((0..MESSAGES).map(|_| envelope("pay")).collect()).await;
        let mut held = all_at_once(workers.iter().cloned().map(lease_all)).await.concat();
        // A worker may look away while another holds a row for a moment: what is left is leased now.
        held.extend(bench.lease("charge", 1_000).await.into_iter().map(|held| held.delivery));
        let distinct: BTreeSet<_> = held.iter().map(|delivery| delivery.message.id).collect();
        assert_eq!((held.len(), distinct.len()), (MESSAGES, MESSAGES), "each is leased once");
        assert!(held.iter().all(|delivery| delivery.attempt == 1), "each for the first time");
    }
}

/// Leases a little at a time until there is nothing.
async fn lease_all(worker: Bench) -> Vec<Delivery> {
    let mut held = Vec::new();
    loop {
        let request = worker.request(vec![wanted("charge", 2)]);
        let call = || worker.store.lease(request.clone(), Now::At(worker.now));
        let leases = patiently("lease", call).await;
        if leases.is_empty() {
            return held;
        }
        held.extend(leases.into_iter().flat_map(|lease| lease.deliveries));
    }
}
