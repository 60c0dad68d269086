use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::StreamExt as _;
use inbox_core::settle::Settlement;
use inbox_core::store::{DeliveryState, LeaseLost, StateStore as _, Store, StoreError};
use tokio::time::{Instant, sleep_until};

use super::calls::Kind;
use super::{Pump, claimed, heard};
use crate::Inbox;
use crate::host::chores;
use crate::host::control::{Control, Stop};
use crate::host::leases::Leases;
use crate::host::observe::Observers;
use crate::host::renew;
use crate::host::shared::Shared;

/// How often a settlement is written that the store cannot take.
const TRIES: u32 = 5;

/// What became of deliveries that were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PendingReport {
    /// Claimed from the store.
    pub leased: u64,
    /// Handled with success.
    pub completed: u64,
    /// Failed, to be tried again.
    pub retried: u64,
    /// Given up, those included with which too many workers vanished.
    pub dead: u64,
    /// Too late to be handled.
    pub expired: u64,
    /// Cancelled by their handler, or while this worker or a vanished one held them.
    pub cancelled: u64,
    /// Discarded by their handler.
    pub discarded: u64,
    /// Claimed, and given back untried.
    pub released: u64,
    /// Claimed, but lost before they could be settled: they are another worker's now.
    pub lost: u64,
}

impl PendingReport {
    pub(super) fn add(
        &mut self,
        settlement: &Settlement,
        written: Result<DeliveryState, LeaseLost>,
    ) {
        let count = match (settlement, written) {
            (_, Err(_)) => &mut self.lost,
            (_, Ok(DeliveryState::Completed)) => &mut self.completed,
            (_, Ok(DeliveryState::Expired)) => &mut self.expired,
            (_, Ok(DeliveryState::Cancelled)) => &mut self.cancelled,
            (_, Ok(DeliveryState::Discarded)) => &mut self.discarded,
            (_, Ok(DeliveryState::Dead)) => &mut self.dead,
            (Settlement::Release, Ok(_)) => &mut self.released,
            // All that is left is to be tried again.
            (_, Ok(_)) => &mut self.retried,
        };
        *count += 1;
    }
}

/// The sum of two reports.
impl std::ops::AddAssign for PendingReport {
    fn add_assign(&mut self, other: Self) {
        let Self { leased, completed, retried, dead, expired, cancelled, discarded, .. } = other;
        self.leased += leased;
        self.completed += completed;
        self.retried += retried;
        self.dead += dead;
        self.expired += expired;
        self.cancelled += cancelled;
        self.discarded += discarded;
        self.released += other.released;
        self.lost += other.lost;
    }
}

impl<S: Store> Inbox<S> {
    /// Works off what is due: brings back what expired or has become due, leases, runs the handlers and
    /// settles, until nothing is due any more. It is the host's engine, with its limits.
    ///
    /// Handlers run in the task that calls this, as many side by side as the host may. If the future is
    /// dropped, they are dropped with it and the deliveries are given back; that costs none of them an
    /// attempt. Any number of tasks and programs may do this at the same time.
    ///
    /// Leases are renewed by the same task. A handler that blocks its thread for longer than a lease holds
    /// loses it and runs again: move such work to `tokio::task::spawn_blocking`.
    ///
    /// For tests, and for jobs that a timer starts. A program that goes on has a host
    /// ([`run_until`](Inbox::run_until)).
    ///
    /// ```no_run
    /// # async fn work<S: inbox::store::Store>(inbox: inbox::Inbox<S>) -> Result<(), inbox::Error> {
    /// let report = inbox.process_pending().await?;
    /// println!("{} completed, {} to be retried", report.completed, report.retried);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the store fails. What was settled until then stays settled.
    pub async fn process_pending(&self) -> Result<PendingReport, StoreError> {
        self.process_some(u64::MAX).await
    }

    /// The same, and leases nothing more after so many deliveries.
    #[doc(hidden)]
    pub async fn process_some(&self, most: u64) -> Result<PendingReport, StoreError> {
        let meter = Arc::clone(self.port().meter());
        let shared = Arc::new(Shared {
            inbox: self.clone(),
            control: Arc::new(Control::new(self.parts().host.stall_after, meter)),
            stop: Stop::default(),
            leases: Leases::new(self.parts().lease_duration),
            observers: Observers::none(),
            listens: AtomicBool::new(false),
            tries: Some(TRIES),
        });
        let mut pump = Pending(Pump::with(Arc::clone(&shared), Kind::InPlace));
        let worked_off = tokio::select! {
            biased;
            report = pump.work_off(most) => report,
            () = renew::renew(&shared) => Ok(pump.0.processed),
        };
        if worked_off.is_err() {
            pump.give_up().await;
        }
        worked_off
    }
}

/// The pump while it works off what is due. Dropped, it gives back everything: its handlers are dropped
/// with it.
struct Pending<S: Store>(Pump<S>);

impl<S: Store> Pending<S> {
    async fn work_off(&mut self, most: u64) -> Result<PendingReport, StoreError> {
        let inbox = self.0.shared.inbox.clone();
        let reclaimed = chores::once(&inbox).await?;
        self.0.processed.dead += reclaimed.dead();
        self.0.processed.cancelled += reclaimed.cancelled();
        loop {
            let leased = self.0.leased;
            self.0.buffer.news();
            self.until_idle(most).await?;
            let is_dry = self.0.leased == leased;
            if is_dry || self.0.leased >= most {
                self.0.processed.leased = self.0.leased;
                return Ok(self.0.processed);
            }
            // What a handler scheduled or failed at may be due by now.
            chores::promote_due(&inbox).await?;
        }
    }

    /// Gives back what no handler has begun. The rest is left to expire: given back at once, a handler whose
    /// outcome cannot be written would run again and again.
    async fn give_up(&mut self) {
        let inbox = &self.0.shared.inbox;
        let unbegun = self.0.shared.leases.forget_all();
        if unbegun.is_empty() {
            return;
        }
        let released = inbox.port().release(unbegun, inbox.scheduler().clock().now()).await;
        if let Err(error) = released {
            tracing::warn!(target: "inbox::host", %error, "leases not released: they will expire");
        }
    }

    /// Until there is nothing more to lease, and nothing is held.
    async fn until_idle(&mut self, most: u64) -> Result<(), StoreError> {
        let pump = &mut self.0;
        loop {
            pump.begin();
            pump.settle();
            if pump.leased < most {
                pump.claim(Instant::now());
            }
            if let Some(error) = pump.failed.take() {
                return Err(error);
            }
            let has_more = pump.buffer.is_hungry() && pump.leased < most;
            if pump.is_idle() && !has_more {
                return Ok(());
            }
            let wakes = [pump.buffer.wake_at(Instant::now()), pump.group_at()];
            let wake_at = wakes.into_iter().flatten().min().unwrap_or(pump.round_at);
            tokio::select! {
                Some(step) = pump.calls.next() => pump.stepped(step),
                Some(group) = pump.settling.next() => pump.settled(group),
                claim = claimed(&mut pump.claiming) => pump.claimed(claim),
                () = heard(&mut pump.bell) => pump.hear(),
                () = sleep_until(wake_at.min(pump.round_at)) => pump.come_around(),
            }
        }
    }
}

impl<S: Store> Drop for Pending<S> {
    fn drop(&mut self) {
        let pump = &mut self.0;
        // The handlers first: nobody may begin what they are at before they are gone.
        pump.calls = super::Calls::new(Kind::InPlace);
        let held = pump.shared.leases.forget_stopped();
        let now = pump.shared.inbox.scheduler().clock().now();
        pump.shared.inbox.port().abandon(held, now);
    }
}
