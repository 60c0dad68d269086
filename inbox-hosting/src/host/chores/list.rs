use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use inbox_core::store::Store;
use tokio::task::JoinSet;

use super::chore::Chore;
use super::heartbeat::Heartbeat;
use super::orphans::Orphans;
use super::promote::Promote;
use super::reclaim::Reclaim;
use super::repair::Repair;
use super::route::Route;
use super::run::run;
use crate::host::HostLoop;
use crate::host::shared::Shared;
use crate::host::supervise::supervise;

/// Between the first rounds of two chores: they need not ask the store all at the same moment.
const SPREAD: Duration = Duration::from_millis(50);

/// Every chore, in the order in which they begin.
pub(in crate::host) fn all<S: Store>() -> Vec<Service<S>> {
    vec![
        Service::of::<Promote>(),
        Service::of::<Heartbeat>(),
        Service::of::<Reclaim>(),
        Service::of::<Route>(),
        Service::of::<Repair>(),
        Service::of::<Orphans>(),
    ]
}

/// A chore that a host can run.
pub(in crate::host) struct Service<S> {
    pub(in crate::host) name: HostLoop,
    pub(in crate::host) interval: Duration,
    run: fn(Arc<Shared<S>>, Duration) -> BoxFuture<'static, ()>,
}

impl<S: Store> Service<S> {
    fn of<C: Chore<S>>() -> Self {
        let run = |shared, delay| run::<S, C>(shared, delay).boxed();
        Self { name: HostLoop::Chore(C::NAME), interval: C::INTERVAL, run }
    }
}

/// Starts every chore in a task of its own.
pub(in crate::host) fn spawn<S: Store>(shared: &Arc<Shared<S>>, tasks: &mut JoinSet<()>) {
    for (position, Service { name, run, .. }) in (0..).zip(all::<S>()) {
        let begin = move |shared| run(shared, SPREAD * position);
        tasks.spawn(supervise(Arc::clone(shared), name, begin).map(drop));
    }
}
