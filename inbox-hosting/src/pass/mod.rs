//! One round of lease, dispatch and settle.

mod keep;
mod renew;
mod report;
mod settle;

use std::num::NonZeroU32;

use inbox_core::store::{Lease, LeaseRequest, Store, StoreError};
use tokio::time::Instant;

use crate::Inbox;
use crate::host::once;
use keep::Keeper;

pub use report::PassReport;

/// Deliveries leased at once for one handler key: few enough to hold in memory.
const LIMIT: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);

impl<S: Store> Inbox<S> {
    /// Makes one pass: brings back what expired or has become due, leases what is ready, runs the
    /// handlers one after the other, and settles each delivery as soon as its handler is done.
    ///
    /// A pass takes up to 64 deliveries of each handler key; where the report says that something
    /// was leased, there may be more. Leases are renewed while handlers run.
    ///
    /// If the future is dropped, the deliveries it holds are given back; that costs none of them an
    /// attempt. Several tasks and programs may make passes at the same time.
    ///
    /// Leases are renewed by the same task that runs the handler. A handler that blocks its thread
    /// for longer than a lease holds loses it and runs again: move such work to
    /// `tokio::task::spawn_blocking`.
    ///
    /// For tests, and for jobs that a timer starts. A program that goes on has a host
    /// ([`run_until`](Inbox::run_until)), which also runs handlers side by side.
    ///
    /// ```no_run
    /// # async fn work<S: inbox::store::Store>(inbox: inbox::Inbox<S>) -> Result<(), inbox::Error> {
    /// // All that is due now.
    /// while inbox.process_pending().await?.leased > 0 {}
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the store fails. What was settled until then stays settled.
    pub async fn process_pending(&self) -> Result<PassReport, StoreError> {
        let mut report = PassReport::default();
        let reclaimed = once(self).await?;
        report.dead += reclaimed.dead;
        report.cancelled += reclaimed.cancelled;
        let asked = Instant::now();
        let leases = self.lease().await?;
        let mut keeper = Keeper::new(self, leases, asked);
        let outcome = self.work_off(&mut keeper, &mut report).await;
        if outcome.is_err() {
            keeper.release().await;
        }
        outcome.map(|()| report)
    }

    async fn lease(&self) -> Result<Vec<Lease>, StoreError> {
        let limits = &self.parts().host;
        let served = self.parts().handlers.served(limits.only.as_deref(), LIMIT);
        let wanted: Vec<_> = served.flat_map(|(_, wanted)| wanted).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let (host, duration) = (self.host().to_owned(), self.parts().lease_duration);
        let request = LeaseRequest { host, duration, wanted, tenants: limits.tenants.clone() };
        self.store().lease(request, self.scheduler().clock().now()).await
    }

    async fn work_off(
        &self,
        keeper: &mut Keeper<'_, S>,
        report: &mut PassReport,
    ) -> Result<(), StoreError> {
        report.leased = keeper.count();
        while let Some((pipeline, mut open)) = keeper.next().await {
            while !open.is_empty() {
                let outcomes = self.dispatch(&pipeline, &mut open, keeper).await;
                self.conclude(&pipeline, outcomes, keeper, report).await?;
                open = keeper.still_held(open);
            }
        }
        report.skipped += keeper.lost();
        Ok(())
    }
}
