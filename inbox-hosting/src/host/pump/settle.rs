use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::request::Attempt;
use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, LeaseLost, Store, StoreError, StoreErrorKind};
use tokio::time::{Instant, sleep};

use super::Pump;
use super::decided::Decided;
use super::lookup::Lookup;
use crate::host::pause::Pause;
use crate::host::shared::Shared;
use crate::host::{Event, HostLoop};

/// Deliveries that are settled together.
const GROUP: usize = 500;

/// Groups that are written at the same time.
const WRITES: usize = 2;

/// A group that is being written.
pub(super) type Settling = Pin<Box<dyn Future<Output = Written> + Send>>;

/// What became of the deliveries of a group; nothing, where the store could not be told.
pub(super) struct Written {
    settled: Vec<(Decided, Option<Result<DeliveryState, LeaseLost>>)>,
    error: Option<StoreError>,
}

impl<S: Store> Pump<S> {
    /// To be written with the next group. Failures have groups of their own: they take longer.
    pub(super) fn settle_later(&mut self, decided: Decided) {
        match decided.settle.settlement {
            Settlement::Done(_) => self.done.push(decided),
            _ => self.others.push(decided),
        }
    }

    /// These were not tried after all.
    pub(super) fn give_back(&mut self, attempts: impl IntoIterator<Item = Attempt>) {
        for attempt in attempts {
            if let Some(decided) = Decided::new(&attempt, Settlement::Release) {
                self.settle_later(decided);
            }
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
    pub(super) fn settled(&mut self, Written { settled, error }: Written) {
        self.in_writing = self.in_writing.saturating_sub(settled.len());
        if settled.iter().any(|(_, written)| written.is_some()) {
            self.shared.control.board.well(HostLoop::Settler);
        }
        self.failed = self.failed.take().or(error);
        for (decided, written) in settled {
            self.note(&decided, written);
        }
    }

    /// Takes note of a quarantined delivery that is settled, or lost.
    pub(super) fn quarantined_ended(&mut self, is_settled: bool) {
        if self.quarantine.ended(is_settled) {
            // The next group may be leased; a claim that is under way may have come too early.
            self.hear();
        }
    }

    /// Takes note of what became of one delivery.
    pub(super) fn note(
        &mut self,
        decided: &Decided,
        written: Option<Result<DeliveryState, LeaseLost>>,
    ) {
        self.shared.leases.done(decided.settle.token);
        if decided.lease.is_quarantined() {
            self.quarantined_ended(written.is_some_and(|written| written.is_ok()));
        }
        let Some(written) = written else {
            self.shared.observers.tell(|| Event::LeaseLost(decided.info()));
            return;
        };
        decided.log(written);
        self.report.add(&decided.settle.settlement, written);
        self.processed.add(&decided.settle.settlement, written);
        self.shared.observers.tell(|| match written {
            Ok(state) => Event::Settled { delivery: decided.info(), state },
            Err(_) => Event::LeaseLost(decided.info()),
        });
    }
}

/// Writes a group, and goes on trying for as long as the leases hold: the handlers have run.
async fn write<S: Store>(shared: Arc<Shared<S>>, group: Vec<Decided>) -> Written {
    let mut lookup = Lookup::default();
    let error = match try_write(&shared, &group, &mut lookup).await {
        Ok(written) => {
            let settled = group.into_iter().zip(written.into_iter().map(Some)).collect();
            return Written { settled, error: None };
        }
        Err(error) => error,
    };
    // One of them may be to blame, so each is tried alone, once; unless it is the store that is in trouble.
    let (mut settled, mut error) = (Vec::with_capacity(group.len()), error);
    for one in group {
        let mut written = None;
        if is_rows_fault(&error) {
            match shared.settle(std::slice::from_ref(&one), &mut lookup).await {
                Ok(answers) => written = answers.into_iter().next(),
                Err(failed) => error = failed,
            }
        }
        if written.is_none() {
            one.log_unwritten(&error);
        }
        settled.push((one, written));
    }
    let is_unwritten = settled.iter().any(|(_, written)| written.is_none());
    Written { settled, error: is_unwritten.then_some(error) }
}

async fn try_write<S: Store>(
    shared: &Shared<S>,
    group: &[Decided],
    lookup: &mut Lookup,
) -> Result<Vec<Result<DeliveryState, LeaseLost>>, StoreError> {
    let begun = Instant::now();
    let (mut pause, mut tried) = (Pause::new(Duration::from_millis(50), Duration::from_secs(1)), 0);
    loop {
        let error = match shared.settle(group, lookup).await {
            Ok(written) => return Ok(written),
            Err(error) => error,
        };
        shared.control.board.failed(HostLoop::Settler, &error);
        tried += 1;
        let is_over = !group.iter().any(|one| shared.leases.is_held(one.settle.token));
        // What is not the store's trouble may be one row's fault: then the others should not wait.
        let is_hopeless = is_rows_fault(&error) && begun.elapsed() >= shared.leases.duration() / 10;
        if is_over || is_hopeless || shared.tries.is_some_and(|most| tried >= most) {
            return Err(error);
        }
        sleep(pause.next()).await;
    }
}

/// Whether it may be the fault of one row, and not the trouble of a store.
fn is_rows_fault(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Other | StoreErrorKind::Corrupt)
}
