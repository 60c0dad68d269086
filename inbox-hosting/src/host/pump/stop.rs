use std::time::Duration;

use futures_util::StreamExt as _;
use inbox_core::message::MessageId;
use inbox_core::request::LaneRun;
use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken, Settle, StateStore as _, Store};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Pump;

/// Before the deadline handlers are asked to stop: so much of the time, but no more than that.
const GRACE: (u32, Duration) = (5, Duration::from_secs(5));

/// After the deadline, how long it may take to end what is left, and to tell the store.
const LAST: Duration = Duration::from_secs(1);

/// Deliveries of a call that was cut off, and behind them the rest of their runs.
#[derive(Debug)]
pub(super) struct Aborted {
    pub(super) deliveries: Vec<(LeaseToken, MessageId)>,
    pub(super) runs: Vec<LaneRun>,
}

/// What became of what a host held when it was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Deliveries whose handler finished and whose outcome was written.
    pub settled: u64,
    /// Deliveries that were given back, their attempt not counted.
    pub released: u64,
    /// Deliveries that could not be given back, because their handler does not stop or the store
    /// does not answer. They come back when their leases expire.
    pub left: u64,
}

impl ShutdownReport {
    pub(super) fn add(
        &mut self,
        settlement: &Settlement,
        written: Result<DeliveryState, LeaseLost>,
    ) {
        match (settlement, written) {
            (Settlement::Release, Ok(_)) => self.released += 1,
            (_, Ok(_)) => self.settled += 1,
            // Another worker's by now.
            (_, Err(_)) => {}
        }
    }
}

impl<S: Store> Pump<S> {
    /// Ends it: what has not begun is given back at once, handlers may go on until the deadline, and
    /// then the rest is given back too.
    pub(super) async fn stop(mut self, stop: watch::Receiver<Option<Instant>>) -> ShutdownReport {
        self.report = ShutdownReport::default();
        self.finish(stop).await;
        let last = Instant::now() + LAST;
        let left = self.cut_off(last).await;
        self.report.left += left;
        let mut report = self.report;
        // Not renewed any more: what could not be settled comes back when its lease expires.
        let unbegun = self.shared.leases.forget_all();
        // Behind a delivery whose handler does not stop, nothing can be given back either.
        report.left += (self.unsettled.len() + self.buffer.queued()) as u64;
        let now = self.shared.inbox.scheduler().clock().now();
        self.shared.inbox.port().abandon(unbegun, now);
        report
    }

    /// Until everything is over, or the deadline has come.
    async fn finish(&mut self, mut stop: watch::Receiver<Option<Instant>>) {
        let begun = Instant::now();
        let mut has_asked = false;
        loop {
            self.give_back_unbegun();
            self.settle();
            self.note_load();
            if self.is_idle() {
                return;
            }
            let deadline = stop.borrow_and_update().unwrap_or(begun);
            let (share, most) = GRACE;
            let grace = (deadline.saturating_duration_since(begun) / share).min(most);
            let ask_at = deadline.checked_sub(grace).unwrap_or(deadline);
            if Instant::now() >= deadline {
                return;
            }
            tokio::select! {
                Some(call) = self.calls.next() => self.stepped(call),
                Some(group) = self.settling.next() => self.settled(group),
                claim = super::claimed(&mut self.claiming) => self.claimed(claim),
                Ok(()) = stop.changed() => {}
                () = sleep_until(ask_at), if !has_asked => {
                    has_asked = true;
                    self.shared.leases.cancel_all();
                }
                () = sleep_until(self.round_at) => {
                    self.round_at = Instant::now() + super::ROUND;
                    self.is_content = true;
                    self.note_health();
                }
                () = sleep_until(deadline) => return,
            }
        }
    }

    /// Gives back what has not begun.
    fn give_back_unbegun(&mut self) {
        let unbegun = self.buffer.take_all();
        self.give_back(unbegun);
    }

    /// Stops the handlers that are left, gives back what they were at, and answers how many did not
    /// stop.
    async fn cut_off(&mut self, last: Instant) -> u64 {
        self.shared.leases.cancel_all();
        self.calls.abort_all();
        // A handler that blocks its thread goes on, and its delivery must not begin elsewhere yet.
        while let Ok(Some(step)) = timeout_at(last, self.calls.next()).await {
            self.stepped(step);
        }
        self.give_back_unbegun();
        let left = self.running as u64;
        // As long again: everything up to here may have taken all the time.
        let last = last.max(Instant::now() + LAST);
        // At once, except behind what is still to be written.
        let (later, at_once) = std::mem::take(&mut self.aborted)
            .into_iter()
            .partition(|aborted| aborted.runs.iter().any(|run| self.unsettled.has(run)));
        self.release(at_once, last).await;
        self.settle();
        while let Ok(Some(group)) = timeout_at(last, self.settling.next()).await {
            self.settled(group);
            self.settle();
        }
        self.release(later, last).await;
        left
    }

    /// Gives back what handlers were at, and what follows it in its run.
    async fn release(&mut self, aborted: Vec<Aborted>, last: Instant) {
        let mut settles = Vec::new();
        for Aborted { deliveries, runs } in aborted {
            // What comes before it was not written, or nobody knows.
            if runs.iter().any(|run| run.is_lost() || self.unsettled.has(run)) {
                self.report.left += deliveries.len() as u64;
                continue;
            }
            let release = |(token, id)| Settle::by_id(token, id, Settlement::Release);
            settles.extend(deliveries.into_iter().map(release));
        }
        if settles.is_empty() {
            return;
        }
        let (count, now) = (settles.len() as u64, self.shared.inbox.scheduler().clock().now());
        let store = std::sync::Arc::clone(self.shared.inbox.port());
        match timeout_at(last, store.settle(settles, now)).await {
            Ok(Ok(written)) => {
                let released = written.iter().filter(|written| written.is_ok()).count();
                self.report.released += released as u64;
            }
            Ok(Err(_)) | Err(_) => self.report.left += count,
        }
    }
}
