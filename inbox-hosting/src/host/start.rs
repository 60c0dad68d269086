use std::sync::Arc;

use inbox_core::store::Store;

use super::control::Stop;
use super::{HostHandle, HostPhase, life, shutdown_signal};
use crate::{Error, Inbox};

/// A host could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// This inbox has a host at work.
    #[error(
        "this inbox is running already, or still stopping: let `handle.shutdown(..)` end first, or \
         build a second inbox if you want two hosts in one process"
    )]
    AlreadyRunning,
    /// There is no runtime to run in.
    #[error("a host needs a Tokio runtime: call this from async code, or from `runtime.enter()`")]
    NoRuntime,
    /// The operating system gave no thread for it.
    #[error("there is no thread for the host")]
    Thread(#[source] std::io::Error),
}

impl<S: Store> Inbox<S> {
    /// Starts the host: from now on what is due is leased, dispatched and settled, until the handle is
    /// told to shut down or is dropped. Returns at once.
    ///
    /// An outage of the store, however long, does not end it: it goes on when the store is back.
    ///
    /// # Errors
    /// When it is running already, or there is no runtime or no thread for it.
    pub fn start(&self) -> Result<HostHandle, Error> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(HostError::NoRuntime.into());
        }
        let control = Arc::clone(&self.parts().control);
        let is_mine = control.phase.send_if_modified(|phase| {
            let is_free = *phase != HostPhase::Running && *phase != HostPhase::Stopping;
            if is_free {
                // First, so that nobody sees a host that runs and has no loops to be ill.
                control.board.begin(life::loops(self));
                // Without a pump, nothing is ever held.
                control.rests.send_replace(!self.parts().host.processes);
                *phase = HostPhase::Running;
            }
            is_free
        });
        if !is_mine {
            return Err(HostError::AlreadyRunning.into());
        }
        let stop = Stop::default();
        match life::begin(self, &control, &stop) {
            Ok(report) => Ok(HostHandle::new(control, stop, report)),
            Err(error) => {
                control.phase.send_replace(HostPhase::Stopped);
                Err(error.into())
            }
        }
    }

    /// Starts the host and works until `signal` is there, `inbox::shutdown_signal()` for instance; then
    /// lets handlers finish, for [`shutdown_timeout`](crate::InboxBuilder::shutdown_timeout) at most,
    /// and gives back the rest. From the signal on, Ctrl-C or SIGTERM ends that wait too.
    ///
    /// If the future is dropped, the host stops at once and gives back what it holds.
    ///
    /// # Errors
    /// When the host cannot be started. What goes wrong later is logged, told to observers and seen in
    /// `inbox.control().health()`; the host gets over it.
    pub async fn run_until(&self, signal: impl Future) -> Result<(), Error> {
        let handle = self.start()?;
        signal.await;
        let shutdown = handle.shutdown(self.parts().host.shutdown_timeout);
        let mut shutdown = std::pin::pin!(shutdown);
        tokio::select! {
            // First, so that it listens before anyone can know that the host stops.
            biased;
            () = shutdown_signal() => handle.force(),
            _ = &mut shutdown => return Ok(()),
        }
        shutdown.await;
        Ok(())
    }
}
