use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use inbox_core::store::Store;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use super::control::{Control, Stop};
use super::leases::Leases;
use super::observe::{self, Observers};
use super::pump::{Pump, ShutdownReport};
use super::shared::Shared;
use super::supervise::supervise;
use super::{Event, HostHandle, HostLoop, HostPhase, listen, renew, shutdown_signal, upkeep};
use crate::{Error, Inbox};

/// A host could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// This inbox has a host at work.
    #[error(
        "this inbox is running already: stop it first, or build a second one if you want two hosts \
         in one process"
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
                control.board.begin(&loops(self));
                // Without a pump, nothing is ever held.
                control.rests.send_replace(!processes(self));
                *phase = HostPhase::Running;
            }
            is_free
        });
        if !is_mine {
            return Err(HostError::AlreadyRunning.into());
        }
        let stop = Stop::default();
        match begin(self, &control, &stop) {
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
            report = &mut shutdown => {
                log(report);
                return Ok(());
            }
        }
        log(shutdown.await);
        Ok(())
    }
}

fn log(report: ShutdownReport) {
    let ShutdownReport { settled, released, left } = report;
    tracing::info!(settled, released, left, "the host has stopped");
}

/// The loops that this host has.
fn loops<S: Store>(inbox: &Inbox<S>) -> Vec<HostLoop> {
    let mut loops = vec![HostLoop::Probe];
    if processes(inbox) {
        loops.extend([HostLoop::Pump, HostLoop::Settler, HostLoop::Renewer, HostLoop::Upkeep]);
        if inbox.store().listen().is_some() {
            loops.push(HostLoop::Listener);
        }
    }
    loops
}

fn processes<S: Store>(inbox: &Inbox<S>) -> bool {
    inbox.parts().host.processes
}

/// Starts the threads and the task that owns all the others, and answers how it will end.
fn begin<S: Store>(
    inbox: &Inbox<S>,
    control: &Arc<Control>,
    stop: &Stop,
) -> Result<watch::Receiver<Option<ShutdownReport>>, HostError> {
    let observers = inbox.parts().host.observers.clone();
    let (observers, observed) = Observers::start(observers).map_err(HostError::Thread)?;
    observers.tell_surely(Event::Starting);
    let shared = Arc::new(Shared {
        inbox: inbox.clone(),
        control: Arc::clone(control),
        stop: stop.clone(),
        leases: Leases::new(inbox.parts().lease_duration),
        observers,
        listens: AtomicBool::new(false),
    });
    let stop_renewing = CancellationToken::new();
    let renewer = match processes(inbox) && inbox.parts().host.renews_apart {
        true => Some(renew::apart(Arc::clone(&shared), stop_renewing.clone())?),
        false => None,
    };
    let (reporting, report) = watch::channel(None);
    tokio::spawn(host(shared, renewer, stop_renewing, observed, reporting));
    Ok(report)
}

/// One host, from its start to its end.
async fn host<S: Store>(
    shared: Arc<Shared<S>>,
    renewer: Option<oneshot::Receiver<()>>,
    stop_renewing: CancellationToken,
    observed: Option<oneshot::Receiver<()>>,
    reporting: watch::Sender<Option<ShutdownReport>>,
) {
    // Should the runtime be dropped, and this task with it, the renewer's thread ends too.
    let stop_renewing = stop_renewing.drop_guard();
    let ended = Ended(Arc::clone(&shared.control));
    // Dropped, it aborts what runs in it.
    let mut others = JoinSet::new();
    let keep = |name| (Arc::clone(&shared), name);
    let report = {
        let (shared_too, name) = keep(HostLoop::Probe);
        others.spawn(supervise(shared_too, name, listen::probe));
        if processes(&shared.inbox) {
            let (shared_too, name) = keep(HostLoop::Upkeep);
            others.spawn(supervise(shared_too, name, upkeep::upkeep));
            let (shared_too, name) = keep(HostLoop::Listener);
            others.spawn(supervise(shared_too, name, listen::listen));
            if renewer.is_none() {
                let stop = CancellationToken::new();
                others.spawn(renew::in_place(Arc::clone(&shared), stop));
            }
        }
        shared.observers.tell_surely(Event::Started);
        others.spawn({
            let shared = Arc::clone(&shared);
            async move {
                shared.stop.asked().await;
                announce_stop(&shared);
            }
        });
        match processes(&shared.inbox) {
            true => {
                let (shared, name) = keep(HostLoop::Pump);
                supervise(shared, name, |shared| Pump::new(shared).run()).await
            }
            false => {
                shared.stop.asked().await;
                ShutdownReport::default()
            }
        }
    };
    others.shutdown().await;
    announce_stop(&shared);
    drop(stop_renewing);
    if let Some(renewer) = renewer {
        // It ends at once, unless the store holds its thread.
        let _ = tokio::time::timeout(Duration::from_secs(1), renewer).await;
    }
    shared.observers.tell_surely(Event::Stopped);
    // With it goes the observers' channel, and so their thread.
    drop(shared);
    observe::ended(observed).await;
    drop(ended);
    reporting.send_replace(Some(report));
}

/// However the host ended, another one can be started.
struct Ended(Arc<Control>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.phase.send_replace(HostPhase::Stopped);
    }
}

/// Says that the host stops, once.
fn announce_stop<S: Store>(shared: &Shared<S>) {
    let is_first = shared.control.phase.send_if_modified(|phase| {
        let is_first = *phase == HostPhase::Running;
        if is_first {
            *phase = HostPhase::Stopping;
        }
        is_first
    });
    if is_first {
        shared.observers.tell_surely(Event::Stopping);
    }
}
