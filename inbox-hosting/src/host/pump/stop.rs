use std::time::Duration;

use futures_util::StreamExt as _;
use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, LeaseLost, Settle, StateStore as _, Store};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Pump;

/// Before the deadline handlers are asked to stop: so much of the time, but no more than that.
const GRACE: (u32, Duration) = (5, Duration::from_secs(5));

/// After the deadline, how long it may take to end what is left, and to tell the store.
const LAST: Duration = Duration::from_secs(1);

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
        report.left += (self.done.len() + self.others.len() + self.in_writing) as u64;
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
                Some(ended) = self.calls.next() => self.finished(ended),
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
        while let Ok(Some(ended)) = timeout_at(last, self.calls.next()).await {
            self.finished(ended);
        }
        let left = self.running as u64;
        let release = |(token, message_id)| Settle::by_id(token, message_id, Settlement::Release);
        let aborted: Vec<_> = std::mem::take(&mut self.aborted).into_iter().map(release).collect();
        let (store, now) = (self.shared.inbox.port(), self.shared.inbox.scheduler().clock().now());
        let (store, count) = (std::sync::Arc::clone(store), aborted.len() as u64);
        // As long again: everything up to here may have taken all the time.
        let last = last.max(Instant::now() + LAST);
        if !aborted.is_empty() {
            match timeout_at(last, store.settle(aborted, now)).await {
                Ok(Ok(written)) => {
                    let released = written.iter().filter(|written| written.is_ok()).count();
                    self.report.released += released as u64;
                }
                Ok(Err(_)) | Err(_) => self.report.left += count,
            }
        }
        self.settle();
        while let Ok(Some(group)) = timeout_at(last, self.settling.next()).await {
            self.settled(group);
            self.settle();
        }
        left
    }
}
