use std::pin::Pin;

use inbox_core::Now;
use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, Held, SECOND, all_at_once, delayed, fail_after, patiently, wanted,
};

pub async fn a_cancellation_that_meets_a_move_is_not_lost(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let envelopes: Vec<_> = (0..40).map(|_| delayed("pay", SECOND)).collect();
    let ids: Vec<_> = envelopes.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(envelopes).await;
    bench.pass(SECOND);
    // Every delivery goes from waiting over ready into a lease, while each is being cancelled.
    let mut meeting: Vec<Pin<Box<dyn Future<Output = Vec<Held>> + Send>>> = Vec::new();
    let worker = bench.other(database, "worker").await;
    meeting.push(Box::pin(async move {
        let mut held = Vec::new();
        for _ in 0..20 {
            patiently("promote", || worker.store.promote(3, Now::At(worker.now))).await;
            held.extend(worker.lease_wanted(vec![wanted("charge", 3)]).await);
        }
        held
    }));
    let (stopper, to_stop) = (bench.other(database, "stopper").await, ids.clone());
    meeting.push(Box::pin(async move {
        for id in to_stop {
            let call = || stopper.store.cancel(id, None, Now::At(stopper.now));
            let cancelled = patiently("cancel", call).await;
            assert_eq!(cancelled.at_once + cancelled.asked, 1, "{id} was in one place");
        }
        Vec::new()
    }));
    for held in all_at_once(meeting).await.into_iter().flatten() {
        let state = bench.settle(&held, fail_after(SECOND)).await;
        assert_eq!(state, Ok(DeliveryState::Cancelled), "it was asked to stop");
    }
    for id in ids {
        assert_eq!(bench.state(id).await, DeliveryState::Cancelled);
    }
}
