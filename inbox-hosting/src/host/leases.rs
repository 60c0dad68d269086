use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::outcome::CancelCause;
use inbox_core::request::{Attempt, HeldLease, Request};
use inbox_core::store::{LeaseLost, LeaseToken, Renewed};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The leases of a host: the pump takes and settles them, the renewer keeps them.
#[derive(Debug)]
pub(crate) struct Leases {
    duration: Duration,
    state: Mutex<State>,
    taken: Notify,
}

#[derive(Debug, Default)]
struct State {
    live: BTreeMap<LeaseToken, Live>,
    /// What handlers are at work on.
    runs: BTreeMap<u64, Request>,
    next_run: u64,
    /// Whether every handler is to stop, also one that has not begun.
    is_over: bool,
}

#[derive(Debug)]
struct Live {
    held: HeldLease,
    /// By this process's clock: it was taken or renewed no earlier.
    renewed: Instant,
    /// Deliveries under it that are not settled.
    open: usize,
    /// Whether a handler was called for one of them.
    is_begun: bool,
    /// Whether it was not renewed in time: another worker may take its deliveries at any moment.
    is_overdue: bool,
    /// Deliveries under it that someone wants stopped.
    cancelled: Vec<MessageId>,
}

impl Leases {
    pub(crate) fn new(duration: Duration) -> Self {
        Self { duration, state: Mutex::default(), taken: Notify::new() }
    }

    pub(crate) fn duration(&self) -> Duration {
        self.duration
    }

    /// How often a lease is renewed.
    pub(crate) fn renewal_interval(&self) -> Duration {
        self.duration / 3
    }

    /// So many deliveries are held under a lease, which was asked for at `asked`.
    pub(crate) fn hold(&self, held: HeldLease, deliveries: usize, asked: Instant) {
        let live = Live {
            renewed: asked,
            open: deliveries,
            is_begun: false,
            is_overdue: false,
            cancelled: Vec::new(),
            held,
        };
        if deliveries > 0 {
            self.lock().live.insert(live.held.token(), live);
            self.taken.notify_one();
        }
    }

    pub(crate) fn is_held(&self, token: LeaseToken) -> bool {
        self.lock().live.contains_key(&token)
    }

    /// Whether a handler may be called under it: a process that stood still finds out before its renewer
    /// does.
    pub(crate) fn may_begin(&self, token: LeaseToken) -> bool {
        let now = Instant::now();
        self.lock().live.get(&token).is_some_and(|lease| now < lease.renewed + self.duration)
    }

    pub(crate) fn is_cancelled(&self, token: LeaseToken, id: MessageId) -> bool {
        self.lock().is_cancelled(token, id)
    }

    /// A handler is called for these, and can be stopped from now on; until the answer is dropped.
    pub(crate) fn begin(&self, request: &Request) -> Running<'_> {
        let mut state = self.lock();
        for token in request.attempts().filter_map(Attempt::token) {
            match state.live.get_mut(&token) {
                Some(lease) => lease.is_begun = true,
                None => request.cancel(CancelCause::LeaseLost),
            }
        }
        if state.is_over {
            request.cancel(CancelCause::Shutdown);
        }
        let run = state.next_run;
        state.next_run += 1;
        state.runs.insert(run, request.clone());
        Running { leases: self, run }
    }

    fn end(&self, run: u64) {
        let ended = self.lock().runs.remove(&run);
        // Whoever waits on the token outside of the handler's future learns that it is over.
        if let Some(request) = ended {
            request.cancel(CancelCause::Over);
        }
    }

    /// A delivery was settled, given up, or turned out to be another's.
    pub(crate) fn done(&self, token: LeaseToken) {
        let mut state = self.lock();
        if let Some(lease) = state.live.get_mut(&token) {
            lease.open = lease.open.saturating_sub(1);
            if lease.open == 0 {
                state.live.remove(&token);
            }
        }
    }

    /// Waits until there is a lease to renew, or until `latest`.
    pub(crate) async fn renewal(&self, latest: Instant) {
        let first = self.lock().live.values().map(|lease| lease.renewed).min();
        match first.map(|renewed| renewed + self.renewal_interval()) {
            Some(next) => tokio::time::sleep_until(next.min(latest)).await,
            None => {
                let _ = tokio::time::timeout_at(latest, self.taken.notified()).await;
            }
        }
    }

    /// Whether a lease of this host was not renewed in time.
    pub(crate) fn is_overdue(&self) -> bool {
        let now = Instant::now();
        self.lock().live.values().any(|lease| lease.renewed + self.duration <= now)
    }

    /// The leases to renew now, if one of them cannot wait; and when the first of them expires. Of those that
    /// have expired, nothing is left to be in time for.
    pub(crate) fn to_renew(&self) -> Option<(Vec<LeaseToken>, Instant)> {
        let (state, now) = (self.lock(), Instant::now());
        let due = state.live.values().any(|lease| lease.renewed + self.renewal_interval() <= now);
        if !due {
            return None;
        }
        // Young ones are left for another time: most are settled by then.
        let old = state.live.iter().filter(|(_, lease)| lease.renewed + self.duration / 6 <= now);
        let until = Timestamp::now() + self.duration;
        let tokens = old.map(|(token, lease)| {
            lease.held.renewing(until);
            *token
        });
        let tokens = tokens.collect();
        let expiries = state.live.values().map(|lease| lease.renewed + self.duration);
        let first = expiries.filter(|expiry| *expiry > now).min();
        Some((tokens, first.unwrap_or(now + self.duration)))
    }

    /// Notes what the store answered to a renewal that began at `asked`.
    pub(crate) fn renewed(
        &self,
        tokens: &[LeaseToken],
        answers: Vec<Result<Renewed, LeaseLost>>,
        asked: Instant,
    ) {
        let mut state = self.lock();
        for (token, answer) in tokens.iter().zip(answers) {
            // Settled meanwhile, it is nobody's loss.
            let Some(lease) = state.live.get_mut(token) else { continue };
            match answer {
                Ok(renewed) => {
                    lease.renewed = asked;
                    lease.is_overdue = false;
                    lease.held.renewed(renewed.expires_at);
                    lease.cancelled = renewed.cancelled;
                }
                Err(_) => state.lose(*token),
            }
        }
        state.stop_what_is_cancelled();
    }

    /// Stops the handlers under leases that could not be renewed in time: another worker may begin the same
    /// deliveries at any moment. Such a lease is kept: until someone takes it, it can be renewed, and what
    /// its handlers came to can be settled.
    pub(crate) fn expire(&self) {
        let (mut state, now) = (self.lock(), Instant::now());
        let mut overdue = Vec::new();
        for (token, lease) in &mut state.live {
            if lease.renewed + self.duration <= now && !lease.is_overdue {
                lease.is_overdue = true;
                overdue.push(*token);
            }
        }
        for token in overdue {
            state.stop(token, "lease not renewed in time: handler asked to stop");
        }
    }

    /// Asks every handler to stop, now and from now on.
    pub(crate) fn cancel_all(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.runs.values().for_each(|request| request.cancel(CancelCause::Shutdown));
    }

    /// Forgets everything, and answers the leases under which no handler was called.
    pub(crate) fn forget_all(&self) -> Vec<LeaseToken> {
        let live = std::mem::take(&mut self.lock().live).into_iter();
        live.filter(|(_, lease)| !lease.is_begun).map(|(token, _)| token).collect()
    }

    /// Forgets everything, and answers all leases: no handler runs any more.
    pub(crate) fn forget_stopped(&self) -> Vec<LeaseToken> {
        std::mem::take(&mut self.lock().live).into_keys().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is half-done when a holder panics: nothing in here calls what could.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_cancelled(&self, token: LeaseToken, id: MessageId) -> bool {
        self.live.get(&token).is_some_and(|lease| lease.cancelled.contains(&id))
    }

    fn lose(&mut self, token: LeaseToken) {
        self.live.remove(&token);
        self.stop(token, "lease lost while a handler runs: handler asked to stop");
    }

    fn stop(&self, token: LeaseToken, message: &str) {
        let of_lease = |attempt: &Attempt| attempt.token() == Some(token);
        let running = self.runs.values().filter(|request| request.attempts().any(of_lease));
        let count = running.inspect(|request| request.cancel(CancelCause::LeaseLost)).count();
        // Where none runs, perhaps it was settled, and the answer is on its way.
        if count > 0 {
            tracing::warn!(target: "inbox::lease", %token, handlers = count, message);
        }
    }

    /// Stops the handlers whose work nobody wants any more: of a batch, all of it.
    fn stop_what_is_cancelled(&self) {
        let cancelled: BTreeSet<_> = self
            .live
            .iter()
            .flat_map(|(token, lease)| lease.cancelled.iter().map(move |id| (*token, *id)))
            .collect();
        if cancelled.is_empty() {
            return;
        }
        let is_cancelled = |attempt: &Attempt| {
            attempt.token().is_some_and(|token| cancelled.contains(&(token, attempt.message_id())))
        };
        for request in self.runs.values() {
            if request.attempts().all(is_cancelled) {
                request.cancel(CancelCause::Operator);
            }
        }
    }
}

/// A call of a handler that can be stopped.
pub(crate) struct Running<'a> {
    leases: &'a Leases,
    run: u64,
}

// However it ended: its task may have been aborted.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.leases.end(self.run);
    }
}
