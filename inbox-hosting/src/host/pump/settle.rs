use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, LeaseLost, Store, StoreError, StoreErrorKind};
use tokio::time::{Instant, sleep};

use super::Pump;
use crate::host::pause::Pause;
use crate::host::shared::Shared;
use crate::host::{DeliveryInfo, Event, HostLoop};
use crate::work::{Judged, Unsure, log};

/// Deliveries that are settled together.
const GROUP: usize = 500;

/// Groups that are written at the same time.
const WRITES: usize = 2;

/// A group that is being written.
pub(super) type Settling = Pin<Box<dyn Future<Output = Vec<Settled>> + Send>>;

/// What became of a delivery; nothing, if the store could not be told.
pub(super) type Settled = (Judged, Option<Result<DeliveryState, LeaseLost>>);

impl<S: Store> Pump<S> {
    /// To be written with the next group. Failures have groups of their own: they take longer.
    pub(super) fn settle_later(&mut self, judged: Judged) {
        match judged.settle.settlement {
            Settlement::Done(_) => self.done.push(judged),
            _ => self.others.push(judged),
        }
    }

    /// Writes what there is to write. It never waits for more: what comes while a group is written
    /// is the next group.
    pub(super) fn settle(&mut self) {
        while self.settling.len() < WRITES && !(self.done.is_empty() && self.others.is_empty()) {
            // In turn: under load there is always something of either kind.
            self.others_next = !self.others_next;
            let queue = match (self.others_next || self.done.is_empty()) && !self.others.is_empty()
            {
                true => &mut self.others,
                false => &mut self.done,
            };
            let group: Vec<_> = queue.drain(..queue.len().min(GROUP)).collect();
            self.in_writing += group.len();
            self.settling.push(Box::pin(write(Arc::clone(&self.shared), group)));
        }
    }

    /// Takes note of what was written.
    pub(super) fn settled(&mut self, group: Vec<Settled>) {
        self.in_writing = self.in_writing.saturating_sub(group.len());
        if group.iter().any(|(_, written)| written.is_some()) {
            self.shared.control.board.well(HostLoop::Settler);
        }
        for (judged, written) in group {
            self.note(&judged, written);
        }
    }

    /// Takes note of what became of one delivery.
    pub(super) fn note(
        &mut self,
        judged: &Judged,
        written: Option<Result<DeliveryState, LeaseLost>>,
    ) {
        self.shared.leases.done(judged.settle.token);
        if judged.work.suspect {
            // The next one may be leased; a claim that is under way may have come too early.
            self.hear();
        }
        let info = || DeliveryInfo::from(&judged.work);
        let Some(written) = written else {
            self.shared.observers.tell(|| Event::LeaseLost(info()));
            return;
        };
        log(judged, written);
        self.report.add(&judged.settle.settlement, written);
        self.shared.observers.tell(|| match written {
            Ok(state) => Event::Settled { delivery: info(), state },
            Err(_) => Event::LeaseLost(info()),
        });
    }
}

/// Writes a group, and goes on trying for as long as the leases hold: the handlers have run.
async fn write<S: Store>(shared: Arc<Shared<S>>, group: Vec<Judged>) -> Vec<Settled> {
    let mut unsure = Unsure::default();
    match try_write(&shared, &group, &mut unsure).await {
        Ok(written) => group.into_iter().zip(written.into_iter().map(Some)).collect(),
        Err(_) => {
            // One of them may be to blame, so each is tried alone, once.
            let mut settled = Vec::with_capacity(group.len());
            for one in group {
                let written = shared.inbox.settle(std::slice::from_ref(&one), &mut unsure).await;
                let written = written.inspect_err(|error| {
                    let message_id = one.settle.message_id;
                    tracing::error!(%message_id, %error, "not settled: it comes back when its lease expires");
                });
                settled.push((one, written.ok().and_then(|written| written.into_iter().next())));
            }
            settled
        }
    }
}

async fn try_write<S: Store>(
    shared: &Shared<S>,
    group: &[Judged],
    unsure: &mut Unsure,
) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
    let begun = Instant::now();
    let mut pause = Pause::new(Duration::from_millis(50), Duration::from_secs(1));
    loop {
        let error = match shared.inbox.settle(group, unsure).await {
            Ok(written) => return Ok(written),
            Err(error) => error,
        };
        shared.control.board.failed(HostLoop::Settler, &error);
        let is_over = !group.iter().any(|one| shared.leases.is_held(one.settle.token));
        // What is not the store's trouble may be one row's fault: then the others should not wait.
        let is_row = matches!(error.kind(), StoreErrorKind::Other | StoreErrorKind::Corrupt);
        if is_over || (is_row && begun.elapsed() >= shared.leases.duration() / 10) {
            return Err(error);
        }
        sleep(pause.next()).await;
    }
}
