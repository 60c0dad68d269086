use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::control::{Control, Stop};
use super::{HostControl, ShutdownReport};

/// A host at work. Dropped, it stops at once: what it holds is given back in the background.
#[derive(Debug)]
#[must_use = "dropped, the host stops at once"]
pub struct HostHandle {
    control: Arc<Control>,
    stop: Stop,
    report: watch::Receiver<Option<ShutdownReport>>,
}

impl HostHandle {
    pub(crate) fn new(
        control: Arc<Control>,
        stop: Stop,
        report: watch::Receiver<Option<ShutdownReport>>,
    ) -> Self {
        Self { control, stop, report }
    }

    /// How the host is, and how it is paused: the same as `inbox.control()`.
    #[must_use]
    pub fn control(&self) -> HostControl {
        HostControl::new(Arc::clone(&self.control))
    }

    /// Leases nothing more, gives back what no handler has begun, and lets the handlers finish for up
    /// to `time`. A little before that is over they are asked to stop, through their cancellation
    /// tokens; then they are cut off. What they were at is given back, its attempt not counted.
    ///
    /// Ends within `time` and about five seconds, whatever the store and the handlers do. A handler that
    /// does not let go of its thread keeps its delivery until the lease expires, so that nobody begins
    /// it meanwhile. If handlers hold every thread of the runtime, only `main` is left to be told.
    ///
    /// Called again with less time, it is over earlier. If the future is dropped, the host stops all
    /// the same.
    pub async fn shutdown(&self, time: Duration) -> ShutdownReport {
        self.stop.within(time);
        self.stopped().await
    }

    /// Cuts handlers off now, also during a shutdown. Does not wait: [`stopped`](Self::stopped) does.
    pub fn force(&self) {
        self.stop.within(Duration::ZERO);
    }

    /// Waits until the host has ended, whoever asked for it.
    pub async fn stopped(&self) -> ShutdownReport {
        let mut report = self.report.clone();
        match report.wait_for(Option::is_some).await {
            Ok(report) => report.unwrap_or_default(),
            // Its runtime is gone, and so is it.
            Err(_) => ShutdownReport::default(),
        }
    }
}

impl Drop for HostHandle {
    fn drop(&mut self) {
        self.force();
    }
}
