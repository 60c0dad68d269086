use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::request::{Attempt, LaneRun};
use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, LeaseLost, Store, StoreError, StoreErrorKind};
use tokio::time::{Instant, sleep};

use super::Pump;
use super::decided::Decided;
use super::lookup::Lookup;
use super::unsettled::Group;
use crate::host::pause::Pause;
use crate::host::shared::Shared;
use crate::host::{Event, HostLoop};

/// Groups that are written at the same time.
const WRITES: usize = 2;

/// For so long a small group waits for one that is being written: then it is taken for stuck, and the small one is
/// written beside it. Each group is a commit, so a few large ones are faster than many small ones.
const SOON: Duration = Duration::from_millis(20);

/// A group that is being written.
pub(super) type Settling = Pin<Box<dyn Future<Output = Written> + Send>>;

/// What became of the deliveries of a group; nothing, where the store could not be told.
pub(super) struct Written {
    settled: Vec<(Decided, Option<Result<DeliveryState, LeaseLost>>)>,
    error: Option<StoreError>,
}

impl<S: Store> Pump<S> {
    /// These were not tried after all.
    pub(super) fn give_back(&mut self, attempts: impl IntoIterator<Item = Attempt>) {
        for attempt in attempts {
            if let Some(decided) = Decided::new(&attempt, Settlement::Release) {
                self.unsettled.push(decided);
            }
        }
    }

    /// Writes what there is to write. It never waits for more: what comes while a group is written
    /// is the next group, which is written beside that one if it is large.
    pub(super) fn settle(&mut self) {
        while self.settling.len() < WRITES && self.beside_at().is_none_or(|at| at <= Instant::now())
        {
            self.settling_since = Instant::now();
            let Some(Group { settled, lost }) = self.unsettled.next_group() else { return };
            for decided in lost {
                self.settled_one(&decided, Some(Err(LeaseLost(decided.settle.token))));
            }
            if !settled.is_empty() {
                self.settling.push(Box::pin(write(Arc::clone(&self.shared), settled)));
            }
        }
    }

    /// When a group may be written beside the one that is being written, if there is one and it has to wait.
    pub(super) fn beside_at(&self) -> Option<Instant> {
        let waits = !self.settling.is_empty()
            && !self.unsettled.is_worth_a_group()
            // Who ends has no time for it.
            && !self.shared.stop.is_asked();
        waits.then(|| self.settling_since + SOON)
    }

    /// When what waits for the group that is being written waits no longer, if something does.
    pub(super) fn group_at(&self) -> Option<Instant> {
        // With as many groups as there may be, one has to end first.
        let has_room = self.settling.len() < WRITES;
        self.beside_at().filter(|_| has_room && self.unsettled.has_queued())
    }

    /// Takes note of what was written.
    pub(super) fn settled(&mut self, Written { settled, error }: Written) {
        if settled.iter().any(|(_, written)| written.is_some()) {
            self.shared.control.board.well(HostLoop::Settler);
        }
        self.failed = self.failed.take().or(error);
        for (decided, written) in settled {
            self.settled_one(&decided, written);
        }
    }

    fn settled_one(
        &mut self,
        decided: &Decided,
        written: Option<Result<DeliveryState, LeaseLost>>,
    ) {
        self.note(decided, written);
        self.unsettled.over(decided.lane());
    }

    /// These are not this host's any more, and have not begun.
    pub(super) fn lose(&mut self, attempts: impl IntoIterator<Item = Attempt>) {
        for attempt in attempts {
            if let Some(decided) = Decided::new(&attempt, Settlement::Release) {
                self.note(&decided, Some(Err(LeaseLost(decided.settle.token))));
            }
        }
    }

    /// Nothing more of this run begins, and no settlement is written of it that is not being written now.
    pub(super) fn lose_run(&mut self, queue: usize, run: &LaneRun) {
        run.lose();
        let rest = self.buffer.stop(queue, run);
        self.lose(rest);
    }

    /// Goes on with a run, or ends it, after one of its deliveries was written or not.
    fn note_run(&mut self, decided: &Decided, is_written: bool) {
        let Some(run) = decided.lane() else { return };
        let Some(queue) = self.buffer.queue_of(decided.lease.handler_key()) else { return };
        match is_written {
            true => self.buffer.queues[queue].line.written(run, Instant::now()),
            false => self.lose_run(queue, run),
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
        self.note_run(decided, matches!(written, Some(Ok(_))));
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
        let is_lost = one.lane().is_some_and(LaneRun::is_lost);
        if is_lost {
            written = Some(Err(LeaseLost(one.settle.token)));
        } else if is_rows_fault(&error) {
            match shared.settle(std::slice::from_ref(&one), &mut lookup).await {
                Ok(answers) => written = answers.into_iter().next(),
                Err(failed) => error = failed,
            }
        }
        // In the order of each run, and nothing of it after one that was not written.
        if let (Some(run), false) = (one.lane(), matches!(written, Some(Ok(_)))) {
            run.lose();
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
