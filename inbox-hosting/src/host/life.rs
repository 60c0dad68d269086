use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt as _;
use inbox_core::store::{LeaseStore as _, Store};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::control::{Control, Stop};
use super::leases::Leases;
use super::observe::{self, Observers};
use super::pump::{Pump, ShutdownReport};
use super::shared::Shared;
use super::supervise::supervise;
use super::{Event, HostError, HostLoop, HostPhase, chores, listen, renew};
use crate::Inbox;

/// How often the pump and the renewer come around, at least.
const ROUND: Duration = Duration::from_secs(1);

/// How long a host that has stopped waits for what it cannot hurry.
const PARTING: Duration = Duration::from_secs(1);

/// The loops that this host has, and how often each comes around when there is nothing to do.
pub(super) fn loops<S: Store>(inbox: &Inbox<S>) -> Vec<(HostLoop, Duration)> {
    let mut loops = vec![(HostLoop::Probe, listen::PROBE)];
    if inbox.parts().host.processes {
        let work = [HostLoop::Pump, HostLoop::Settler, HostLoop::Renewer];
        loops.extend(work.map(|name| (name, ROUND)));
        loops.extend(chores::all::<S>().iter().map(|chore| (chore.name, chore.interval)));
        if inbox.port().listen().is_some() {
            loops.push((HostLoop::Listener, listen::ROUND));
        }
    }
    loops
}

/// Starts the threads and the task that owns all the others, and answers how it will end.
pub(super) fn begin<S: Store>(
    inbox: &Inbox<S>,
    control: &Arc<Control>,
    stop: &Stop,
) -> Result<watch::Receiver<Option<ShutdownReport>>, HostError> {
    let options = &inbox.parts().host;
    let started = Observers::start(options.observers.clone());
    let (observers, observed) = started.map_err(HostError::Thread)?;
    observers.tell_surely(Event::Starting);
    let shared = Arc::new(Shared {
        inbox: inbox.clone(),
        control: Arc::clone(control),
        stop: stop.clone(),
        leases: Leases::new(inbox.parts().lease_duration),
        observers,
        listens: AtomicBool::new(false),
        tries: None,
    });
    let stop_renewing = CancellationToken::new();
    let (reporting, report) = watch::channel(None);
    let renewer = match options.processes && options.renews_apart {
        true => Some(renew::apart(Arc::clone(&shared), stop_renewing.clone(), reporting.clone())?),
        false => None,
    };
    let threads = Threads { stop_renewing: stop_renewing.drop_guard(), renewer, observed };
    tokio::spawn(live(shared, threads, reporting));
    Ok(report)
}

/// What a host runs beside its tasks. Should the runtime be dropped, and the host with it, the renewer
/// is told to end too.
struct Threads {
    stop_renewing: DropGuard,
    renewer: Option<oneshot::Receiver<()>>,
    observed: Option<oneshot::Receiver<()>>,
}

/// One host, from its start to its end.
async fn live<S: Store>(
    shared: Arc<Shared<S>>,
    threads: Threads,
    reporting: watch::Sender<Option<ShutdownReport>>,
) {
    let ended = Ended(Arc::clone(&shared.control));
    let mut others = others(&shared, threads.renewer.is_none());
    shared.observers.tell_surely(Event::Started);
    tracing::info!(host = shared.inbox.host(), "the host has started");
    let report = match shared.options().processes {
        true => {
            let pump = |shared| Pump::new(shared).run();
            supervise(Arc::clone(&shared), HostLoop::Pump, pump).await.unwrap_or_default()
        }
        false => {
            shared.stop.asked().await;
            ShutdownReport::default()
        }
    };
    others.shutdown().await;
    announce_stop(&shared);
    drop(threads.stop_renewing);
    // It ends at once, unless the store holds its thread. A store that is away will find out by itself
    // that this host is gone.
    let renewer = async {
        if let Some(renewer) = threads.renewer {
            let _ = renewer.await;
        }
    };
    let leaving = async {
        if shared.options().processes
            && let Err(error) = shared.inbox.leave().await
        {
            tracing::debug!(%error, "the store was not told that the host has stopped");
        }
    };
    let _ = tokio::join!(timeout(PARTING, renewer), timeout(PARTING, leaving));
    shared.observers.tell_surely(Event::Stopped);
    // With it goes the observers' channel, and so their thread.
    drop(shared);
    observe::ended(threads.observed).await;
    drop(ended);
    let ShutdownReport { settled, released, left } = report;
    match left {
        0 => tracing::info!(settled, released, "the host has stopped"),
        left => tracing::warn!(
            settled,
            released,
            left,
            "the host has stopped, and what is left comes back when its leases expire"
        ),
    }
    reporting.send_replace(Some(report));
}

/// Every task but the pump. Dropped, it aborts them.
fn others<S: Store>(shared: &Arc<Shared<S>>, renews_in_place: bool) -> JoinSet<()> {
    let share = || Arc::clone(shared);
    let mut others = JoinSet::new();
    others.spawn(supervise(share(), HostLoop::Probe, listen::probe).map(drop));
    if shared.options().processes {
        chores::spawn(shared, &mut others);
        others.spawn(supervise(share(), HostLoop::Listener, listen::listen).map(drop));
        if renews_in_place {
            others.spawn(renew::in_place(share(), CancellationToken::new()));
        }
    }
    let stopping = share();
    others.spawn(async move {
        stopping.stop.asked().await;
        announce_stop(&stopping);
    });
    others
}

/// However the host ended, another one can be started.
struct Ended(Arc<Control>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.board.begin([]);
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
        tracing::info!("the host stops: it leases nothing more, and lets handlers finish");
        shared.observers.tell_surely(Event::Stopping);
    }
}
