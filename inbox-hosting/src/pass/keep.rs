use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use inbox_core::dispatch::{CancellationToken, HeldLease};
use inbox_core::message::MessageId;
use inbox_core::store::{Lease, LeaseToken, Store};
use tokio::time::Instant;

use crate::Inbox;
use crate::work::{Share, Watch, Work, shares};

/// Holds the leases of a pass, and keeps them from expiring.
pub(super) struct Keeper<'a, S: Store> {
    pub(super) inbox: &'a Inbox<S>,
    queue: VecDeque<Share>,
    pub(super) leases: BTreeMap<LeaseToken, Live>,
    // By this process's clock: leases were taken or renewed no earlier.
    pub(super) renewed: Instant,
    running: Option<Running>,
    lost: u64,
}

pub(super) struct Live {
    pub(super) held: HeldLease,
    /// Deliveries under it that are not settled.
    open: usize,
    /// Stops the handler that runs under it; none has begun if there is none.
    cancellation: Option<CancellationToken>,
    /// Deliveries under it that someone wants stopped.
    pub(super) cancelled: Vec<MessageId>,
}

/// What one call of a handler is at work on.
struct Running {
    deliveries: Vec<(LeaseToken, MessageId)>,
    cancellation: CancellationToken,
}

impl Live {
    pub(super) fn stop(&self) {
        self.cancellation.iter().for_each(CancellationToken::cancel);
    }
}

impl<'a, S: Store> Keeper<'a, S> {
    /// Keeps `leases`, which were asked for at `asked` and so expire no earlier than counted from
    /// there.
    pub(super) fn new(inbox: &'a Inbox<S>, leases: Vec<Lease>, asked: Instant) -> Self {
        let queue = shares(&inbox.parts().handlers, leases, asked);
        let mut live = BTreeMap::new();
        for work in queue.iter().flat_map(|(_, works)| works) {
            let lease = live.entry(work.lease.token()).or_insert_with(|| Live {
                held: work.lease.clone(),
                open: 0,
                cancellation: None,
                cancelled: Vec::new(),
            });
            lease.open += 1;
        }
        Self { inbox, queue, leases: live, renewed: asked, running: None, lost: 0 }
    }

    pub(super) fn count(&self) -> u64 {
        self.leases.values().map(|lease| lease.open as u64).sum()
    }

    /// Deliveries that were lost before their handler's turn came.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// The next share, without what was lost in the meantime.
    pub(super) async fn next(&mut self) -> Option<Share> {
        loop {
            if self.next_renewal() <= Instant::now() {
                self.renew().await;
            }
            let (pipeline, works) = self.queue.pop_front()?;
            let works = self.still_held(works);
            if !works.is_empty() {
                return Some((pipeline, works));
            }
        }
    }

    /// The works without those whose lease was lost.
    pub(super) fn still_held(&mut self, works: Vec<Work>) -> Vec<Work> {
        let before = works.len();
        let held = |work: &Work| self.leases.contains_key(&work.lease.token());
        let works: Vec<_> = works.into_iter().filter(held).collect();
        self.lost += (before - works.len()) as u64;
        works
    }

    /// How long the leases have not been renewed, if that is longer than they hold: the handler
    /// did not let this task run.
    pub(super) fn overdue(&self) -> Option<Duration> {
        Some(self.renewed.elapsed()).filter(|elapsed| *elapsed >= self.duration())
    }

    fn was_cancelled(&self, token: LeaseToken, id: MessageId) -> bool {
        self.leases.get(&token).is_some_and(|lease| lease.cancelled.contains(&id))
    }

    /// Stops the handler if nobody wants what it is at work on: of a batch, all of it.
    pub(super) fn stop_what_is_cancelled(&self) {
        let Some(running) = &self.running else { return };
        if running.deliveries.iter().all(|(token, id)| self.was_cancelled(*token, *id)) {
            running.cancellation.cancel();
        }
    }

    /// Waits for a while, renewing all leases meanwhile.
    pub(super) async fn wait(&mut self, time: Duration) {
        self.alongside(tokio::time::sleep(time)).await;
    }

    /// A delivery was settled, or turned out to be another's.
    pub(super) fn done(&mut self, token: LeaseToken) {
        if let Some(lease) = self.leases.get_mut(&token) {
            lease.open = lease.open.saturating_sub(1);
            if lease.open == 0 {
                self.leases.remove(&token);
            }
        }
    }

    /// Gives back what no handler has begun. The rest is left to expire: given back at once, a
    /// handler whose outcome cannot be written would run again and again.
    pub(super) async fn release(mut self) {
        // Nothing is left for `drop` to give back.
        let leases = std::mem::take(&mut self.leases).into_iter();
        let unbegun = leases.filter(|(_, lease)| lease.cancellation.is_none());
        let tokens: Vec<_> = unbegun.map(|(token, _)| token).collect();
        if tokens.is_empty() {
            return;
        }
        let now = self.inbox.scheduler().clock().now();
        if let Err(error) = self.inbox.store().release(tokens, now).await {
            tracing::warn!(%error, "could not release leases: they will expire");
        }
    }
}

impl<S: Store> Watch for Keeper<'_, S> {
    fn is_cancelled(&self, work: &Work) -> bool {
        self.was_cancelled(work.lease.token(), work.message_id)
    }

    fn cancellation(&mut self, works: &[Work]) -> CancellationToken {
        let cancellation = CancellationToken::new();
        for work in works {
            match self.leases.get_mut(&work.lease.token()) {
                Some(lease) => lease.cancellation = Some(cancellation.clone()),
                None => cancellation.cancel(),
            }
        }
        let deliveries = works.iter().map(|work| (work.lease.token(), work.message_id)).collect();
        self.running = Some(Running { deliveries, cancellation: cancellation.clone() });
        cancellation
    }

    async fn alongside<T: Send>(&mut self, run: impl Future<Output = T> + Send) -> T {
        tokio::select! {
            biased;
            result = run => result,
            never = self.renew_forever() => match never {},
        }
    }
}

// The pass was dropped, or has ended and left nothing here.
impl<S: Store> Drop for Keeper<'_, S> {
    fn drop(&mut self) {
        // Whoever waits on the token outside of the handler's future learns that it is over.
        self.leases.values().for_each(Live::stop);
        let tokens = std::mem::take(&mut self.leases).into_keys().collect();
        self.inbox.store().abandon(tokens, self.inbox.scheduler().clock().now());
    }
}
