mod host;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::Clock;
use inbox_core::dispatch::Layers;
use inbox_core::error::BoxError;
use inbox_core::handler::HandlerService;
use inbox_core::outcome::{Outcomes, RetryLimits};
use inbox_core::policy::{Delays, RetryPolicy};
use inbox_core::provide::Lend;
use inbox_core::registry::{
    Catalog, ContractsWithoutHandler, Problem, Registry, RegistryBuilder, RegistryError,
};
use inbox_core::request::Request;
use inbox_core::schedule::{Codec, Limits, Scheduler};
use inbox_core::store::{Maintain as _, StateStore as _, Store, Writer};
use tower_layer::Layer;
use tower_service::Service;

use crate::handlers::Handlers;
use crate::host::{Beats, Control, HostOptions};
use crate::inbox::Parts;
use crate::port::Port;
use crate::{Error, Inbox};

/// After a crash, deliveries come back when their leases expire.
const LONGEST_LEASE: Duration = Duration::from_hours(24);

/// What a program says before its inbox starts.
#[derive(Debug)]
#[must_use = "a builder does nothing until `.build()`"]
pub struct InboxBuilder<S> {
    registry: RegistryBuilder,
    scheduler: Scheduler<S>,
    layers: Layers,
    retry: RetryLimits,
    lease_duration: Duration,
    host: HostOptions,
    problems: Vec<Problem>,
}

impl<S: Store> InboxBuilder<S> {
    pub(crate) fn new(store: S) -> Self {
        Self {
            registry: Registry::builder(),
            scheduler: Scheduler::new(Arc::new(store)),
            layers: Layers::default(),
            retry: RetryLimits::default(),
            lease_duration: Duration::from_mins(1),
            host: HostOptions::default(),
            problems: Vec::new(),
        }
    }

    /// Provides a value for handlers that take `State<T>`.
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.registry = self.registry.state(state);
        self
    }

    /// Says that a layer lends a `T` to handlers that take `&mut T`.
    pub fn lends<T: Lend>(mut self) -> Self {
        self.registry = self.registry.lends::<T>();
        self
    }

    /// Takes only the handlers of this bounded context, `#[handler(context = "...")]`.
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.registry = self.registry.context(name);
        self
    }

    /// Decides about contracts that no handler of this program takes.
    pub fn contracts_without_handler(mut self, policy: ContractsWithoutHandler) -> Self {
        self.registry = self.registry.contracts_without_handler(policy);
        self
    }

    /// Takes exactly these contracts and handlers instead of all that are linked.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.registry = self.registry.catalog(catalog);
        self
    }

    /// Puts a `tower` layer around every handler, within its timeout; the last one is outermost.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<HandlerService> + Send + Sync + 'static,
        L::Service: Service<Request, Response = Outcomes> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Error: Into<BoxError>,
        <L::Service as Service<Request>>::Future: Send,
    {
        self.layers.push(layer);
        self
    }

    /// How large a message may be.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.scheduler = self.scheduler.with_limits(limits);
        self
    }

    /// What payloads go through on their way to the store and back.
    pub fn codec(mut self, codec: impl Codec) -> Self {
        self.scheduler = self.scheduler.with_codec(Arc::new(codec));
        self
    }

    /// How many attempts a delivery has whose handler does not say; 25 where nothing is said.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        match NonZeroU32::new(attempts) {
            Some(attempts) => self.retry.max_attempts = attempts,
            None => self.problems.push(Problem::new(
                "`max_attempts` is 0, so no delivery would ever be attempted",
                "write at least 1, which means dead on the first failure",
                [],
            )),
        }
        self
    }

    /// Default `max_crashes` of handlers that set none: 3. A crash is no attempt, and the first two workers in a
    /// row that vanish with a delivery accuse nobody: it may have had a bad neighbour. Then the delivery is
    /// quarantined, and dead-lettered once this many more workers in a row have vanished with it, the last of
    /// which held it alone. Innocent neighbours are charged nothing.
    pub fn max_crashes(mut self, crashes: u32) -> Self {
        match NonZeroU32::new(crashes) {
            Some(crashes) => self.retry.max_crashes = crashes,
            None => self.problems.push(Problem::new(
                "`max_crashes` is 0, so no delivery could ever be leased",
                "write at least 1, which means dead when a first worker vanishes",
                [],
            )),
        }
        self
    }

    /// How a failed delivery is tried again whose handler does not say. Delays that are listed one
    /// by one also decide the number of attempts.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        if let Delays::Listed(delays) = &policy.delays {
            let delays = u32::try_from(delays.len()).unwrap_or(u32::MAX);
            self.retry.max_attempts = NonZeroU32::MIN.saturating_add(delays);
        }
        self.retry.retry = policy;
        self
    }

    /// How long a worker that stops reporting keeps its deliveries; a minute where nothing is said.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        if duration < Duration::from_millis(100) {
            self.problems.push(Problem::new(
                format!("a lease of {duration:?} expires before a handler can report back"),
                "write at least 100 milliseconds",
                [],
            ));
        }
        if duration > LONGEST_LEASE {
            self.problems.push(Problem::new(
                format!("a lease of {duration:?} keeps what a crashed worker held for so long"),
                "write at most a day: leases are renewed while a handler runs",
                [],
            ));
        }
        self.lease_duration = duration;
        self
    }

    /// Takes the time from here instead of from the store, for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.scheduler = self.scheduler.with_clock(clock);
        self
    }

    /// Checks everything, and makes this program's handlers known to the store.
    ///
    /// # Errors
    /// Lists every mistake there is, or says what the store could not do.
    pub async fn build(self) -> Result<Inbox<S>, Error> {
        let mut problems = self.problems;
        // For handlers that schedule within a transaction of their own.
        let mut registry = self.registry.state(self.scheduler.clone());
        let port = Arc::new(Port::new(Arc::clone(self.scheduler.store())));
        let transactions = port.transactions();
        if let Some(transactions) = &transactions {
            registry = registry.transactions(&**transactions);
        }
        let (registry, handlers) = match registry.build() {
            Ok(registry) => {
                let handlers =
                    Handlers::new(&registry, &self.layers, transactions.as_ref(), &self.retry);
                problems.extend(host::problems(&self.host, &handlers));
                (registry, handlers)
            }
            Err(error) => {
                problems.extend(error.problems().iter().cloned());
                return Err(RegistryError::new(problems).into());
            }
        };
        if !problems.is_empty() {
            return Err(RegistryError::new(problems).into());
        }
        let now = self.scheduler.clock().now();
        let routes = handlers.routes();
        // Who only schedules tells the store nothing, and its role need not be allowed to.
        if !routes.is_empty() {
            handlers.warn_about(&port.register_routes(routes, now).await?);
        }
        Ok(Inbox::new(Parts {
            erased: self.scheduler.with_store(Arc::clone(&port) as Arc<dyn Writer>),
            scheduler: self.scheduler,
            registry,
            handlers,
            lease_duration: self.lease_duration,
            control: Arc::new(Control::new(self.host.stall_after, Arc::clone(port.meter()))),
            host: self.host,
            beats: Beats::default(),
            port,
        }))
    }
}
