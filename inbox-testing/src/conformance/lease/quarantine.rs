use std::num::NonZeroU32;

use inbox_core::message::MessageId;
use inbox_core::store::{Lease, LeaseRequest, Terms, Wanted};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, SECOND, envelope, fail_after, ids, wanted};

/// `count` deliveries of `charge`, with which so many workers have vanished, each with all of them.
async fn vanished(bench: &mut Bench, count: usize, workers: u32) -> Vec<MessageId> {
    bench.register("pay", "charge").await;
    let sent: Vec<_> = (0..count).map(|_| envelope("pay")).collect();
    let sent_ids = sent.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(sent).await;
    for _ in 0..workers {
        let held = lease(bench, 100).await.iter().map(|lease| lease.deliveries.len()).sum();
        assert_eq!((held, bench.reclaim(0).await.moved()), (count, 0), "one worker held them all");
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(100).await.returned(), count as u64);
    }
    sent_ids
}

/// Leases all of `charge`, and so many quarantined ones.
async fn lease(bench: &Bench, quarantine: u32) -> Vec<Lease> {
    let request = bench.request(vec![wanted("charge", 100)]);
    bench.leases(LeaseRequest { quarantine: NonZeroU32::new(quarantine), ..request }).await
}

fn delivered(lease: &Lease) -> Vec<MessageId> {
    lease.deliveries.iter().map(|delivery| delivery.message.id).collect()
}

pub async fn a_first_vanished_worker_accuses_no_one(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let sent = vanished(&mut bench, 20, 1).await;
    let leases = lease(&bench, 0).await;
    assert!(leases.iter().all(|lease| !lease.quarantined), "{leases:?}");
    let mut again: Vec<_> = leases.iter().flat_map(delivered).collect();
    again.sort_unstable();
    assert_eq!(again, sent, "all run again at once");
    let attempts = leases.iter().flat_map(|lease| &lease.deliveries).map(|one| one.attempt);
    assert!(attempts.into_iter().all(|attempt| attempt == 1), "nothing was counted");
}

pub async fn what_two_workers_vanished_with_is_leased_only_where_that_is_wanted(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    vanished(&mut bench, 3, 2).await;
    assert!(lease(&bench, 0).await.is_empty(), "nobody asked for it");
    let leases = lease(&bench, 1).await;
    let [one] = leases.as_slice() else { panic!("one lease: {leases:?}") };
    assert!(one.quarantined && one.deliveries.len() == 1, "{one:?}");
    assert_eq!(one.deliveries[0].attempt, 1, "nothing was counted");
}

pub async fn a_quarantined_delivery_that_has_no_room_holds_up_no_other(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("mail", "send").await;
    bench.accept_one(envelope("pay")).await;
    let free = bench.accept_one(envelope("mail")).await;
    let one = Terms { fleet: Some(NonZeroU32::MIN), ..Terms::default() };
    let both = || vec![Wanted { terms: one, ..wanted("charge", 9) }, wanted("send", 9)];
    for _ in 0..2 {
        assert_eq!(bench.lease_wanted(both()).await.len(), 2);
        bench.pass(HOLD);
        assert_eq!(bench.reclaim(10).await.returned(), 2);
    }
    let busy = bench.accept_one(envelope("pay")).await;
    for (quarantine, expected) in [(None, busy), (NonZeroU32::new(9), free)] {
        let request = LeaseRequest { quarantine, ..bench.request(both()) };
        let held = bench.lease_requested(request).await;
        assert_eq!(ids(&held), [expected], "the one that is oldest has no room");
    }
}

pub async fn quarantined_deliveries_are_leased_in_groups_of_the_size_that_is_wanted(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    let mut left = vanished(&mut bench, 7, 2).await;
    for size in [1, 2, 4] {
        let leases = lease(&bench, size).await;
        let [group] = leases.as_slice() else { panic!("one lease: {leases:?}") };
        assert!(group.quarantined && group.deliveries.len() == size as usize, "{group:?}");
        left.retain(|id| !delivered(group).contains(id));
    }
    assert_eq!(left, [], "each was in one group");
}

pub async fn one_with_which_a_third_worker_vanished_is_leased_alone(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let mut left = vanished(&mut bench, 3, 3).await;
    while !left.is_empty() {
        let leases = lease(&bench, 10).await;
        let [alone] = leases.as_slice() else { panic!("one lease: {leases:?}") };
        assert!(alone.quarantined && alone.deliveries.len() == 1, "{alone:?}");
        left.retain(|id| !delivered(alone).contains(id));
    }
}

pub async fn a_quarantined_delivery_shares_no_lease_with_others(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let old = vanished(&mut bench, 3, 2).await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    let leases = lease(&bench, 2).await;
    for lease in &leases {
        let accused = delivered(lease).iter().filter(|id| old.contains(id)).count();
        let expected = if lease.quarantined { lease.deliveries.len() } else { 0 };
        assert_eq!(accused, expected, "{lease:?}");
    }
    let held: usize = leases.iter().map(|lease| lease.deliveries.len()).sum();
    assert_eq!(held, 5, "two of those, and all the others");
}

pub async fn a_quarantined_delivery_keeps_no_other_back(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    vanished(&mut bench, 20, 2).await;
    let id = bench.accept_one(envelope("pay")).await;
    let request = bench.request(vec![wanted("charge", 1)]);
    let request = LeaseRequest { quarantine: None, ..request };
    assert_eq!(ids(&bench.lease_requested(request).await), [id]);
}

pub async fn quarantined_deliveries_keep_to_the_limit_of_the_fleet(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    vanished(&mut bench, 3, 2).await;
    bench.accept_one(envelope("pay")).await;
    let terms = Terms { fleet: NonZeroU32::new(2), ..Terms::default() };
    let request = bench.request(vec![Wanted { terms, ..wanted("charge", 100) }]);
    let request = LeaseRequest { quarantine: NonZeroU32::new(10), ..request };
    let leases = bench.leases(request.clone()).await;
    let held: usize = leases.iter().map(|lease| lease.deliveries.len()).sum();
    assert_eq!(held, 2, "the fleet holds no more: {leases:?}");
    assert_eq!(bench.leases(request).await, [], "there is no room for another one");
}

pub async fn the_quarantined_delivery_that_waited_longest_is_leased_whatever_its_key(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    for (contract, key) in [("paid", "z-last"), ("sent", "a-first")] {
        bench.register(contract, key).await;
        bench.accept_one(envelope(contract)).await;
        for _ in 0..2 {
            assert_eq!(bench.lease(key, 1).await.len(), 1);
            bench.pass(HOLD);
            bench.reclaim(10).await;
        }
    }
    let both = || vec![wanted("a-first", 10), wanted("z-last", 10)];
    for expected in ["z-last", "a-first"] {
        let held = bench.lease_wanted(both()).await;
        let keys: Vec<_> = held.iter().map(|held| held.delivery.handler_key.as_str()).collect();
        assert_eq!(keys, [expected]);
        bench.settled(&held[0], DONE).await;
    }
}

pub async fn an_attempt_that_is_settled_ends_the_row_of_vanished_workers(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    vanished(&mut bench, 1, 2).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    bench.pass(SECOND);
    bench.promote(10).await;
    for _ in 0..2 {
        let leases = lease(&bench, 0).await;
        assert_eq!(leases.len(), 1, "it is like any other");
        assert_eq!(leases[0].deliveries[0].attempt, 2);
        bench.pass(HOLD);
        bench.reclaim(10).await;
    }
    assert!(lease(&bench, 0).await.is_empty(), "two more workers in a row vanished with it");
}
