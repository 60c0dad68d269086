use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use inbox_core::Now;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, PATIENCE, envelope, wanted};

pub async fn a_dropped_lease_leaves_nothing_held_and_nothing_counted(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    for polls in 0..5 {
        bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
        drop_after(&bench, polls).await;
        // The store may need a moment to notice. Every look is a call, so it has its turn.
        let (mut leased, begun) = (BTreeSet::new(), Instant::now());
        while begun.elapsed() < PATIENCE {
            for held in other.lease("charge", 10).await {
                assert_eq!(held.delivery.attempt, 1, "what was dropped is no attempt");
                assert!(leased.insert(held.id()), "each is leased once");
                other.settled(&held, DONE).await;
            }
            if leased.len() == 3 {
                break;
            }
            bench.counts().await;
            tokio::task::yield_now().await;
        }
        assert_eq!(leased.len(), 3, "dropped after {polls} polls, some are held by nobody");
    }
}

/// Asks for everything and goes away after so many polls. An answer that came in time is released.
async fn drop_after(bench: &Bench, polls: u32) {
    let request = bench.request(vec![wanted("charge", 10)]);
    let mut leasing = bench.store.lease(request, Now::At(bench.now));
    for _ in 0..polls {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(answer) = Pin::as_mut(&mut leasing).poll(&mut context) {
            let leases = answer.unwrap_or_else(|error| panic!("lease failed: {error}"));
            bench.release(leases.into_iter().map(|lease| lease.token).collect()).await;
            return;
        }
        tokio::task::yield_now().await;
    }
}
