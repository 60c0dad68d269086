//! Leases into a bounded buffer, dispatches under the limits of concurrency, and settles in groups.
//!
//! One task owns all of it, so that nothing outlives it: the buffer (`buffer`, with a `queue` for each
//! handler and what waits in it in `line`), the claim that is under way (`claim`), the calls of handlers
//! (`dispatch`, `calls`, `run`), and the groups that are being written (`decided`, `unsettled`, `settle`,
//! `lookup`). Deliveries of one lane that were leased together are a run (`runs`): they are executed one
//! after the other (`run_on`, where that is quick) and written in their order; `reach` says how many lanes
//! a claim takes. `quarantine` says how many deliveries
//! with which workers vanished are tried together. `stop` is how it ends, and `pending` how it works off what
//! is due.

mod buffer;
mod calls;
mod claim;
mod decided;
mod dispatch;
#[cfg(test)]
mod kit;
mod line;
mod lookup;
mod pending;
mod quarantine;
mod queue;
mod rate;
mod reach;
mod run;
mod run_on;
mod runs;
mod settle;
mod stop;
mod throughput;
mod unsettled;

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use inbox_core::dispatch::Pipeline;
use inbox_core::store::{Bell, BellListener, LeaseStore as _, StateStore as _, Store, StoreError};
use tokio::time::{Instant, sleep_until};

use super::pause::Pause;
use super::shared::Shared;
use super::{HostLoop, Load};
use buffer::Buffer;
use calls::{Calls, Kind};
use claim::{Claim, Claiming};
use quarantine::Quarantine;
use settle::Settling;
use stop::Aborted;
use unsettled::Unsettled;

pub use pending::PendingReport;
pub use stop::ShutdownReport;

/// It comes around this often, whatever happens.
const ROUND: Duration = Duration::from_millis(500);

/// The pump of a host.
pub(super) struct Pump<S: Store> {
    shared: Arc<Shared<S>>,
    bell: Option<BellListener>,
    /// The handlers, in the order of the buffer's queues.
    handlers: Vec<Arc<Pipeline>>,
    buffer: Buffer,
    claiming: Option<Claiming>,
    /// Whether something may have become ready since the last claim began.
    news: bool,
    /// Whether no claim is under way because none is wanted.
    is_content: bool,
    /// No claim before, because the last one failed.
    claim_at: Instant,
    pause: Pause,
    /// When the store is asked without any news.
    poll_at: Instant,
    poll: Duration,
    quarantine: Quarantine,
    /// Claims that were made.
    claims: u64,
    calls: Calls,
    /// Deliveries whose handler was cut off.
    aborted: Vec<Aborted>,
    unsettled: Unsettled,
    settling: FuturesUnordered<Settling>,
    /// When the last group began to be written.
    settling_since: Instant,
    running: usize,
    /// When it comes around next.
    round_at: Instant,
    report: ShutdownReport,
    processed: PendingReport,
    /// Deliveries that were claimed.
    leased: u64,
    /// What the store could not do, since this was last asked.
    failed: Option<StoreError>,
}

impl<S: Store> Pump<S> {
    pub(super) fn new(shared: Arc<Shared<S>>) -> Self {
        Self::with(shared, Kind::Spawned)
    }

    fn with(shared: Arc<Shared<S>>, kind: Kind) -> Self {
        let now = Instant::now();
        let (parts, options) = (shared.inbox.parts(), shared.options());
        let served: Vec<_> =
            parts.handlers.served(options.only.as_deref(), NonZeroU32::MIN).collect();
        let handlers = served.iter().map(|(pipeline, _)| Arc::clone(pipeline)).collect();
        let queues = served.iter().map(|(it, wanted)| (&it.descriptor().options, wanted.clone()));
        let concurrency = options.concurrency.get() as usize;
        // Whoever reclaims a run waits for its lease, and then for as long again.
        let longest_run = shared.leases.duration() / 4;
        let buffer = Buffer::new(concurrency, options.buffer, longest_run, queues);
        Self {
            bell: shared.inbox.port().bell().map(Bell::listener),
            handlers,
            buffer,
            claiming: None,
            news: false,
            is_content: false,
            claim_at: now,
            pause: Pause::new(Duration::from_millis(50), Duration::from_secs(2)),
            poll_at: now,
            poll: claim::SHORTEST_POLL,
            quarantine: Quarantine::default(),
            claims: 0,
            calls: Calls::new(kind),
            aborted: Vec::new(),
            unsettled: Unsettled::default(),
            settling: FuturesUnordered::new(),
            settling_since: now,
            running: 0,
            round_at: now,
            report: ShutdownReport::default(),
            processed: PendingReport::default(),
            leased: 0,
            failed: None,
            shared,
        }
    }

    /// Works until the host is told to stop.
    pub(super) async fn run(mut self) -> ShutdownReport {
        let mut stop = self.shared.stop.subscribe();
        let mut paused = self.shared.control.paused.subscribe();
        while stop.borrow_and_update().is_none() {
            self.begin();
            self.settle();
            self.lease();
            self.note_load();
            let wake_at = self.wake_at();
            tokio::select! {
                Some(call) = self.calls.next() => self.stepped(call),
                Some(group) = self.settling.next() => self.settled(group),
                claim = claimed(&mut self.claiming) => self.claimed(claim),
                () = heard(&mut self.bell) => self.hear(),
                () = sleep_until(wake_at) => self.come_around(),
                Ok(()) = stop.changed() => {}
                Ok(()) = paused.changed() => {}
            }
        }
        self.stop(stop).await
    }

    /// There may be something new for everyone.
    fn hear(&mut self) {
        self.news = true;
        self.buffer.news();
    }

    /// Nothing happened for a while, or it is time for something.
    fn come_around(&mut self) {
        let now = Instant::now();
        self.round_at = now + ROUND;
        let stale = self.buffer.stale(now);
        self.give_back(stale);
        self.note_health();
    }

    /// Says that it is there. Where it is at something, the answer to that says more.
    fn note_health(&self) {
        let board = &self.shared.control.board;
        if self.claiming.is_none() && self.is_content {
            board.well(HostLoop::Pump);
        }
        if self.settling.is_empty() {
            board.well(HostLoop::Settler);
        }
    }

    fn wake_at(&self) -> Instant {
        let now = Instant::now();
        let retry = Some(self.claim_at).filter(|at| *at > now);
        // A poll is a claim: where one is under way, or has to wait, there is nothing to wake up for.
        let can_claim = self.claiming.is_none() && self.claim_at <= now;
        let poll = Some(self.poll_at).filter(|_| can_claim);
        let others = [retry, poll, self.group_at(), self.buffer.wake_at(now)].into_iter().flatten();
        others.fold(self.round_at, Instant::min)
    }

    fn is_paused(&self) -> bool {
        *self.shared.control.paused.borrow()
    }

    fn is_idle(&self) -> bool {
        self.claiming.is_none() && self.load().held() == 0
    }

    fn load(&self) -> Load {
        let (buffered, unsettled) = (self.buffer.queued(), self.unsettled.len());
        Load { buffered, running: self.running, unsettled }
    }

    /// Says what is held.
    fn note_load(&self) {
        let (control, load) = (&self.shared.control, self.load());
        control.load.send_if_modified(|known| std::mem::replace(known, load) != load);
        let rests = self.is_paused() && self.is_idle();
        control.rests.send_if_modified(|known| std::mem::replace(known, rests) != rests);
    }
}

// It ended, or failed as it never should, and its tasks with it.
impl<S: Store> Drop for Pump<S> {
    fn drop(&mut self) {
        let unbegun = self.shared.leases.forget_all();
        let now = self.shared.inbox.scheduler().clock().now();
        self.shared.inbox.port().abandon(unbegun, now);
        self.shared.control.load.send_replace(Load::default());
        self.shared.control.rests.send_replace(false);
    }
}

async fn claimed(claiming: &mut Option<Claiming>) -> Claim {
    poll_fn(|context| match claiming {
        Some(claim) => claim.as_mut().poll(context),
        None => Poll::Pending,
    })
    .await
}

async fn heard(bell: &mut Option<BellListener>) {
    match bell {
        Some(bell) => bell.heard().await,
        None => std::future::pending().await,
    }
}
