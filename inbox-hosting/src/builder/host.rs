use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::registry::{Catalog, ContractsWithoutHandler, Problem};
use inbox_core::store::Store;

use super::InboxBuilder;
use crate::Observer;
use crate::handlers::Handlers;
use crate::host::HostOptions;

/// How the host works that `start` and `run_until` begin. The defaults drain a backlog as fast as the
/// store gives it.
impl<S: Store> InboxBuilder<S> {
    /// At most this many calls of handlers at the same time; 64 where nothing is said. One of them is
    /// kept free for each handler that has none, up to a quarter of them all, so that one handler's
    /// stalling stops no other. A handler's own limit is `#[handler(concurrency = ..)]`.
    pub fn concurrency(mut self, calls: u32) -> Self {
        match NonZeroU32::new(calls) {
            Some(calls) => self.host.concurrency = calls,
            None => self.problems.push(Problem::new(
                "`concurrency` is 0, so no handler would ever be called",
                "write at least 1, or `.scheduler_only()` for a process that only schedules",
                [],
            )),
        }
        self
    }

    /// At most this many deliveries are held beside those that handlers are at: leased ahead, or
    /// handled and not written yet; 2,000 where nothing is said. It is a bound and no target: a handler
    /// has as much leased ahead as it handles in a quarter of a second.
    pub fn buffer(mut self, deliveries: usize) -> Self {
        self.host.buffer = deliveries;
        self
    }

    /// The longest a host goes without asking the store, should nothing wake it; a second where nothing
    /// is said. Where the store cannot tell of what other processes schedule, it asks more often as
    /// long as there is something to do.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        if interval < Duration::from_millis(1) {
            self.problems.push(Problem::new(
                format!(
                    "a poll interval of {interval:?} leaves the store no time for anything else"
                ),
                "write at least a millisecond; a second is usual",
                [],
            ));
        }
        // More than a day is as good as never, and every clock can show it.
        self.host.poll_interval = interval.min(Duration::from_hours(24));
        self
    }

    /// How long handlers may go on after the signal that ends `run_until`; 25 seconds where nothing is
    /// said. Let it be shorter than what kills the process: `terminationGracePeriodSeconds` for
    /// instance.
    pub fn shutdown_timeout(mut self, time: Duration) -> Self {
        self.host.shutdown_timeout = time;
        self
    }

    /// A loop that has not come around for so much longer than it should counts as stalled; 10 seconds
    /// where nothing is said.
    pub fn stall_after(mut self, time: Duration) -> Self {
        self.host.stall_after = time;
        self
    }

    /// Of so many claims, one begins with a lower priority instead of the most urgent one, so that no
    /// delivery waits for ever behind constant urgent work: low, normal and high take turns. 8 where nothing
    /// is said; 0 for strict priorities, where low ones run only when nothing more urgent is ready.
    pub fn low_priority_share(mut self, claims: u32) -> Self {
        self.host.low_priority_share = NonZeroU32::new(claims);
        self
    }

    /// How long the fleet waits for a host with a handler key, before what is ready under that key is
    /// dead-lettered with the reason `orphaned`; a day where nothing is said, and with no time at all
    /// within seconds. It counts while there are live hosts and none of them serves the key, and begins
    /// anew when one does. Nothing is dropped: `inbox.retry(..)` brings it back.
    ///
    /// Let it be the same in all programs on one store: whichever waits least decides.
    pub fn orphan_grace(mut self, grace: Duration) -> Self {
        self.host.orphan_grace = grace;
        self
    }

    /// Runs only these handlers, by key. The others are known to the store all the same: another
    /// process with the same program runs them.
    pub fn only_handlers<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.host.only = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Works only for these tenants; the empty one is that of messages without a tenant.
    pub fn only_tenants<T: Into<String>>(mut self, tenants: impl IntoIterator<Item = T>) -> Self {
        self.host.tenants = Some(tenants.into_iter().map(Into::into).collect());
        self
    }

    /// Leases nothing by itself: `start` and `run_until` only look whether the store can be used. For
    /// tests that call `process_pending`, and for processes that leave the work to others.
    pub fn without_background_processing(mut self) -> Self {
        self.host.processes = false;
        self
    }

    /// Takes none of the handlers that are linked, so that none of their states need be provided: for
    /// a process that only schedules, while others handle. Nothing about handlers is told to the
    /// store.
    pub fn scheduler_only(self) -> Self {
        self.catalog(Catalog::linked().without_handlers())
            .contracts_without_handler(ContractsWithoutHandler::Allow)
            .without_background_processing()
    }

    /// Tells `observer` what the host does.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.host.observers.push(Arc::new(observer));
        self
    }

    /// Renews leases by a task of the runtime instead of a thread apart, for tests that stop its clock.
    #[doc(hidden)]
    pub fn renew_in_place(mut self) -> Self {
        self.host.renews_apart = false;
        self
    }
}

/// What is wrong with the limits of a worker.
pub(super) fn problems(options: &HostOptions, handlers: &Handlers) -> Vec<Problem> {
    let (only, tenants) = (options.only.as_deref(), options.tenants.as_deref());
    let mut problems = Vec::new();
    for key in only.unwrap_or_default().iter().filter(|key| handlers.get(key).is_none()) {
        let known: Vec<_> = handlers.keys().collect();
        problems.push(Problem::new(
            format!(
                "the host is to run only some handlers, and none of this inbox answers to `{key}`"
            ),
            match known.is_empty() {
                true => "this inbox has no handlers at all: leave `only_handlers` out".to_owned(),
                false => {
                    format!("write one of {}, or link the crate that has it", known.join(", "))
                }
            },
            [],
        ));
    }
    for (what, list) in [("handlers", only), ("tenants", tenants)] {
        if list.is_some_and(<[String]>::is_empty) {
            problems.push(Problem::new(
                format!("the host is limited to no {what} at all, so it would never do anything"),
                format!("name some {what}, or leave `only_{what}` out"),
                [],
            ));
        }
    }
    problems
}
