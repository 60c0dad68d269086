use std::any::{Any, TypeId};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::Attempt;
use super::shelf::{Extensions, Loans};
use crate::error::Rejection;
use crate::message::Delivery;
use crate::outcome::{CancelCause, Tries};
use crate::provide::Lend;
use crate::schedule::Scheduler;
use crate::settle::{DeliveryState, Settlement};

/// What the layers around a handler pass on: one delivery, or the batch of them that one call
/// handles.
///
/// Owned, `'static` and cheap to clone, so any `tower` layer can hold it, move it to a task or
/// send it twice. Clones are one request: they share the cancellation and what layers added.
///
/// ```standalone_crate
/// use std::time::Duration;
/// use inbox::dispatch::Delivery;
/// use inbox::schedule::{Limits, prepare};
/// use inbox::{Registry, Request, ScheduleOptions, Timestamp, handler, inbox_contract};
/// use tower::{ServiceBuilder, ServiceExt};
///
/// #[inbox_contract(name = "greet", version = 1)]
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Greet { name: String }
///
/// #[handler(key = "greet")]
/// async fn greet(command: Greet) {
///     println!("hello {}", command.name);
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let registry = Registry::builder().build()?;
/// let handler = registry.handler("greet").ok_or("not registered")?;
/// let service = ServiceBuilder::new()
///     .concurrency_limit(8)
///     .timeout(Duration::from_secs(30))
///     .service(handler.service());
///
/// let command = Greet { name: "you".to_owned() };
/// let envelope = prepare(&command, ScheduleOptions::new(), &Limits::default())?;
/// let delivery = Delivery::first(envelope.message, Timestamp::now(), "greet");
/// service.oneshot(Request::unstored(delivery)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    run: Arc<Run>,
    immediate_retries: u32,
    conflicts: u32,
    /// How often the attempt was repeated, for whatever reason: tells one run of it from another.
    repetition: u32,
}

#[derive(Debug)]
struct Run {
    // A batch keeps its first attempt here as well, so that a single one needs no `Vec`.
    first: Attempt,
    rest: Vec<Attempt>,
    scheduler: Scheduler,
    cancellation: CancellationToken,
    cause: OnceLock<CancelCause>,
    settled: OnceLock<Vec<(Settlement, DeliveryState)>>,
    loans: Loans,
    extensions: Extensions,
}

impl Request {
    /// A request to make this attempt, or several in one call, whose handler schedules with `scheduler`.
    #[must_use]
    pub fn new(first: Attempt, rest: Vec<Attempt>, scheduler: Scheduler) -> Self {
        let run = Run {
            first,
            rest,
            scheduler,
            cancellation: CancellationToken::new(),
            cause: OnceLock::new(),
            settled: OnceLock::new(),
            loans: Loans::new(),
            extensions: Extensions::new(),
        };
        Self { run: Arc::new(run), immediate_retries: 0, conflicts: 0, repetition: 0 }
    }

    /// A request that is made by hand: nothing of it is stored, and its handler cannot schedule.
    #[must_use]
    pub fn unstored(delivery: Delivery) -> Self {
        Self::unstored_batch(delivery, Vec::new())
    }

    /// The same for several deliveries in one call.
    #[must_use]
    pub fn unstored_batch(first: Delivery, rest: Vec<Delivery>) -> Self {
        let rest = rest.into_iter().map(Attempt::unstored).collect();
        Self::new(Attempt::unstored(first), rest, Scheduler::detached())
    }

    /// The delivery; of a batch, the first.
    #[must_use]
    pub fn delivery(&self) -> &Delivery {
        self.run.first.delivery()
    }

    /// The delivery, unless there are several: a handler of one must not pass over the others.
    pub(crate) fn only_delivery(&self) -> Result<&Delivery, Rejection> {
        match self.len() {
            1 => Ok(self.delivery()),
            deliveries => Err(format!(
                "the handler takes one command, but the request carries {deliveries}: add `batch` to the \
                 handler, or send one request for each"
            )
            .into()),
        }
    }

    /// Every delivery of the request, in order.
    pub fn deliveries(&self) -> impl Iterator<Item = &Delivery> {
        self.attempts().map(Attempt::delivery)
    }

    /// Every attempt of the request, in order: the deliveries with their leases.
    pub fn attempts(&self) -> impl Iterator<Item = &Attempt> {
        std::iter::once(&self.run.first).chain(&self.run.rest)
    }

    /// How many deliveries there are; never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a request is never empty")]
    pub fn len(&self) -> usize {
        self.run.rest.len() + 1
    }

    /// What is logged about the run is logged in here: the span of the delivery, or of the batch.
    pub(crate) fn span(&self) -> Span {
        match self.run.rest.len() {
            0 => self.run.first.span().clone(),
            more => {
                let Delivery { handler_key, message, .. } = self.delivery();
                let (contract, deliveries) = (&message.contract, more + 1);
                tracing::info_span!(
                    target: "inbox::dispatch",
                    "batch",
                    handler_key,
                    contract,
                    deliveries,
                )
            }
        }
    }

    /// What the handler schedules with. Its clock is the run's.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler {
        &self.run.scheduler
    }

    /// Cancelled when the handler should stop: shutdown, a lost lease, or an operator.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.run.cancellation
    }

    /// Why the handler was asked to stop, if it was.
    #[must_use]
    pub fn cancel_cause(&self) -> Option<CancelCause> {
        self.run.cause.get().copied()
    }

    /// Asks the handler to stop.
    pub fn cancel(&self, cause: CancelCause) {
        self.run.cause.get_or_init(|| cause);
        self.run.cancellation.cancel();
    }

    /// How often this attempt has been repeated at once; 0 the first time.
    #[must_use]
    pub fn immediate_retries(&self) -> u32 {
        self.immediate_retries
    }

    /// The same request, for the next immediate retry.
    #[must_use]
    pub fn retried(&self) -> Self {
        let immediate_retries = self.immediate_retries.saturating_add(1);
        let repetition = self.repetition.saturating_add(1);
        Self { immediate_retries, conflicts: 0, repetition, ..self.clone() }
    }

    /// The same request, to be run again because its transaction met another one.
    pub(crate) fn begun_again(&self) -> Self {
        let (conflicts, repetition) = (self.conflicts + 1, self.repetition.saturating_add(1));
        Self { conflicts, repetition, ..self.clone() }
    }

    /// How often the attempt at `delivery` was tried by now.
    pub(crate) fn tries(&self, delivery: &Delivery) -> Tries {
        Tries {
            attempt: delivery.attempt,
            immediate: self.immediate_retries,
            conflicts: self.conflicts,
            stopped: self.cancel_cause(),
        }
    }

    /// What was written of its deliveries together with what the handler did, in their order: then nothing
    /// is left to write.
    #[must_use]
    pub fn settled(&self) -> Option<&[(Settlement, DeliveryState)]> {
        self.run.settled.get().map(Vec::as_slice)
    }

    pub(crate) fn set_settled(&self, settled: Vec<(Settlement, DeliveryState)>) {
        // Written once: the lease of the first one is gone.
        self.run.settled.get_or_init(|| settled);
    }

    /// Lends `value` to the handler, which takes it as `&mut T`. A value of that type that is still
    /// here is dropped.
    ///
    /// After the handler has returned, [`reclaim`](Self::reclaim) gives `value` back. If the handler
    /// was dropped in the middle, `value` was dropped with it.
    pub fn lend<T: Lend>(&self, value: T) {
        self.put_loan(value);
    }

    /// Takes back what was lent, unless a handler holds it or was dropped with it.
    #[must_use]
    pub fn reclaim<T: Lend>(&self) -> Option<T> {
        self.take_loan()
    }

    pub(crate) fn put_loan<T: Send + 'static>(&self, value: T) {
        self.lend_any(TypeId::of::<T>(), Box::new(value));
    }

    pub(crate) fn lend_any(&self, type_id: TypeId, value: Box<dyn Any + Send>) {
        self.run.loans.put(type_id, (self.repetition, value));
    }

    /// Takes back what was lent to this run. A handler of an earlier one that a layer left behind may have
    /// given its own back.
    pub(crate) fn reclaim_any(&self, type_id: TypeId) -> Option<Box<dyn Any + Send>> {
        let (lent_to, value) = self.run.loans.take(type_id)?;
        (lent_to == self.repetition).then_some(value)
    }

    pub(crate) fn take_loan<T: Send + 'static>(&self) -> Option<T> {
        let (_, value) = self.run.loans.take(TypeId::of::<T>())?;
        value.downcast().ok().map(|value| *value)
    }

    /// Leaves `value` for layers further in and for extractors, in the place of an earlier one of
    /// its type. A value that holds a clone of this request would never be dropped.
    pub fn extend<T: Clone + Send + Sync + 'static>(&self, value: T) {
        self.run.extensions.put(TypeId::of::<T>(), Arc::new(value));
    }

    /// A clone of what was last left of this type, on this request or a clone of it.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        self.run.extensions.get(TypeId::of::<T>())?.downcast_ref().cloned()
    }
}
