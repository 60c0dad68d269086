//! Permits: what a limit is of.

use std::num::NonZeroU32;

use inbox_core::store::{Lease, Settle};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, drain, envelope, running};

/// The permits that these leases use of a limit of the fleet, of which only deliveries without an ordering key are
/// held.
fn permits(leases: &[Lease]) -> usize {
    let used = |lease: &Lease| {
        let permits = lease.permits.map_or(usize::MAX, |permits| permits.get() as usize);
        permits.min(lease.deliveries.len())
    };
    leases.iter().map(used).sum()
}

fn settles(lease: &Lease) -> Vec<Settle> {
    let settle = |id| Settle::by_id(lease.token, id, DONE);
    lease.deliveries.iter().map(|delivery| settle(delivery.message.id)).collect()
}

pub async fn a_lease_uses_no_more_permits_than_it_was_given(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    for _ in 0..20 {
        bench.accept_one(envelope("pay")).await;
    }
    let mut two = running("charge", 20, 9, 4);
    two.terms.fleet = NonZeroU32::new(2);
    let wanted = || bench.request(vec![two.clone()]);
    let mut leases = bench.leases(wanted()).await;
    let held: usize = leases.iter().map(|lease| lease.deliveries.len()).sum();
    assert_eq!(permits(&leases), 2, "{leases:?}");
    assert!((2..=8).contains(&held), "each permit is for four at most: {held}");
    assert!(other.leases(wanted()).await.is_empty(), "there is no permit left");

    // All but one of them end.
    let mut open: Vec<_> = leases.iter().flat_map(settles).collect();
    let last = open.split_off(held - 1);
    for one in open {
        let left: usize = leases.iter().map(|lease| lease.deliveries.len()).sum();
        if left > 2 {
            assert!(other.leases(wanted()).await.is_empty(), "{left} are held");
        }
        for lease in leases.iter_mut().filter(|lease| lease.token == one.token) {
            lease.deliveries.retain(|delivery| delivery.message.id != one.message_id);
        }
        assert!(bench.settle_all(vec![one]).await.iter().all(Result::is_ok));
    }
    assert_eq!(permits(&leases), 1);
    let theirs = other.leases(wanted()).await;
    assert_eq!(permits(&theirs), 1, "the other one is used still: {theirs:?}");
    assert!(bench.settle_all(last).await.iter().all(Result::is_ok));
    for lease in &theirs {
        assert!(other.settle_all(settles(lease)).await.iter().all(Result::is_ok));
    }
    let done = held + theirs.iter().map(|lease| lease.deliveries.len()).sum::<usize>();
    assert_eq!(drain(&bench, vec![two]).await.len(), 20 - done);
}
