use std::any::TypeId;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Delivery;
use super::shelf::{Extensions, Loans};
use super::unit::SettledInUnit;
use crate::extract::{Lend, Rejection};

/// What the layers around a handler pass on: one delivery, or the batch of them that one call
/// handles.
///
/// Owned, `'static` and cheap to clone, so any `tower` layer can hold it, move it to a task or
/// send it twice. Clones are one request: they share the cancellation and what layers added.
///
/// ```standalone_crate
/// use std::time::Duration;
/// use inbox::dispatch::{CancellationToken, Delivery};
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
/// let request = Request::new(delivery, CancellationToken::new());
/// service.oneshot(request).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    shared: Arc<Shared>,
    immediate_retries: u32,
}

#[derive(Debug)]
struct Shared {
    // A batch keeps its first delivery here as well, so that a single one needs no `Vec`.
    first: Delivery,
    rest: Vec<Delivery>,
    cancellation: CancellationToken,
    loans: Loans,
    extensions: Extensions,
}

impl Request {
    /// A request to handle `delivery`, which `cancellation` asks to stop.
    #[must_use]
    pub fn new(delivery: Delivery, cancellation: CancellationToken) -> Self {
        Self::batch(delivery, Vec::new(), cancellation)
    }

    /// A request to handle several deliveries in one call.
    #[must_use]
    pub fn batch(first: Delivery, rest: Vec<Delivery>, cancellation: CancellationToken) -> Self {
        let (loans, extensions) = (Loans::new(), Extensions::new());
        let shared = Shared { first, rest, cancellation, loans, extensions };
        Self { shared: Arc::new(shared), immediate_retries: 0 }
    }

    /// The delivery; of a batch, the first.
    #[must_use]
    pub fn delivery(&self) -> &Delivery {
        &self.shared.first
    }

    /// The delivery, unless there are several: a handler of one must not pass over the others.
    pub(crate) fn only_delivery(&self) -> Result<&Delivery, Rejection> {
        match self.shared.rest.len() {
            0 => Ok(&self.shared.first),
            more => Err(format!(
                "the handler takes one command, but the request carries {}: add `batch` to the \
                 handler, or send one request for each",
                more + 1
            )
            .into()),
        }
    }

    /// Every delivery of the request, in order.
    pub fn deliveries(&self) -> impl Iterator<Item = &Delivery> {
        std::iter::once(&self.shared.first).chain(&self.shared.rest)
    }

    /// Cancelled when the handler should stop: shutdown, a lost lease, or an operator.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.shared.cancellation
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
        Self { shared: Arc::clone(&self.shared), immediate_retries }
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
        self.shared.loans.put(TypeId::of::<T>(), Box::new(value));
    }

    pub(crate) fn take_loan<T: Send + 'static>(&self) -> Option<T> {
        let value = self.shared.loans.take(TypeId::of::<T>())?;
        value.downcast().ok().map(|value| *value)
    }

    /// Whether its deliveries were settled together with what the handler wrote: then nothing is left
    /// to write.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.extension::<SettledInUnit>().is_some()
    }

    /// Leaves `value` for layers further in and for extractors, in the place of an earlier one of
    /// its type. A value that holds a clone of this request would never be dropped.
    pub fn extend<T: Clone + Send + Sync + 'static>(&self, value: T) {
        self.shared.extensions.put(TypeId::of::<T>(), Arc::new(value));
    }

    /// A clone of what was last left of this type, on this request or a clone of it.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        self.shared.extensions.get(TypeId::of::<T>())?.downcast_ref().cloned()
    }
}
