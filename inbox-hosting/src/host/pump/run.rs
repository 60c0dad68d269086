use std::sync::Arc;
use std::time::Duration;

use inbox_core::dispatch::{CancellationToken, Pipeline};
use inbox_core::settle::{Outcome, Settlement};
use inbox_core::store::Store;
use tokio::time::Instant;

use crate::host::leases::Leases;
use crate::host::shared::Shared;
use crate::host::{DeliveryInfo, Event};
use crate::work::{Judged, Watch, Work, judge};

/// What came of one call.
#[derive(Debug)]
pub(super) struct Finished {
    /// What is to become of its deliveries, those excepted whose lease was lost before their turn.
    pub(super) judged: Vec<Judged>,
    pub(super) took: Duration,
}

/// Calls the handler for these deliveries, and decides what becomes of each.
pub(super) async fn run<S: Store>(
    shared: Arc<Shared<S>>,
    pipeline: Arc<Pipeline>,
    mut open: Vec<Work>,
) -> Finished {
    let began = Instant::now();
    let mut judged = Vec::with_capacity(open.len());
    // Some time may have passed since this was planned, if the process stood still.
    judged.extend(too_late(&shared.leases, &mut open));
    for work in &open {
        shared.observers.tell(|| Event::Dispatched(DeliveryInfo::from(work)));
    }
    while !open.is_empty() {
        let mut watch = Watching { leases: &shared.leases, run: None };
        let (outcome, works) = shared.inbox.dispatch(&pipeline, &mut open, &mut watch).await;
        let was_interrupted = watch.was_interrupted(&outcome) && shared.is_stopping();
        drop(watch);
        judged.extend(judge(&pipeline, outcome, works).into_iter().map(|one| {
            match was_interrupted && one.written.is_none() {
                // The shutdown cut it short, which is no fault of its own.
                true => Judged::new(one.work, Settlement::Release),
                false => one,
            }
        }));
        judged.extend(too_late(&shared.leases, &mut open));
    }
    Finished { judged, took: began.elapsed() }
}

/// Takes out those whose leases are over. One that may turn out to have been renewed in time is given back.
fn too_late(leases: &Leases, open: &mut Vec<Work>) -> Vec<Judged> {
    let late = open.extract_if(.., |work| !leases.may_begin(work.lease.token()));
    let late = late.filter(|work| leases.is_held(work.lease.token()));
    late.map(|work| Judged::new(work, Settlement::Release)).collect()
}

/// The leases of one call. The renewer keeps them meanwhile.
struct Watching<'a> {
    leases: &'a Leases,
    run: Option<(u64, CancellationToken)>,
}

impl Watching<'_> {
    /// Whether a handler was asked to stop, and did.
    fn was_interrupted(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Failed(_))
            && self.run.as_ref().is_some_and(|(_, cancellation)| cancellation.is_cancelled())
    }
}

impl Watch for Watching<'_> {
    fn is_cancelled(&self, work: &Work) -> bool {
        self.leases.is_cancelled(work)
    }

    fn cancellation(&mut self, works: &[Work]) -> CancellationToken {
        let run = self.leases.begin(works);
        self.run.insert(run).1.clone()
    }

    async fn alongside<T: Send>(&mut self, run: impl Future<Output = T> + Send) -> T {
        run.await
    }
}

// However it ended: its task may have been aborted.
impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if let Some((run, _)) = self.run.take() {
            self.leases.end(run);
        }
    }
}
