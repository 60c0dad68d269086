use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Delivery;
use super::loans::Loans;

/// What the layers around a handler pass on: one delivery, or the batch of them that one call
/// handles.
///
/// Owned, `'static` and cheap to clone, so any `tower` layer can hold it, move it to a task or
/// send it twice. Clones are one request: they share the cancellation and what a layer lent.
#[derive(Debug, Clone)]
pub struct Request {
    shared: Arc<Shared>,
    immediate_retry: u32,
}

#[derive(Debug)]
struct Shared {
    // A batch keeps its first delivery here as well, so that a single one needs no `Vec`.
    first: Delivery,
    rest: Vec<Delivery>,
    cancellation: CancellationToken,
    loans: Loans,
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
        let shared = Shared { first, rest, cancellation, loans: Loans::default() };
        Self { shared: Arc::new(shared), immediate_retry: 0 }
    }

    /// The delivery; of a batch, the first.
    #[must_use]
    pub fn delivery(&self) -> &Delivery {
        &self.shared.first
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
    pub fn immediate_retry(&self) -> u32 {
        self.immediate_retry
    }

    /// The same request, for the next immediate retry.
    #[must_use]
    pub fn retried(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), immediate_retry: self.immediate_retry + 1 }
    }

    /// Lends `value` to the handler, which takes it as `&mut T`.
    ///
    /// Answers the value of that type that was lent before and not taken. After the handler has
    /// returned, [`reclaim`](Self::reclaim) gives `value` back; if the handler was dropped in the
    /// middle, `value` was dropped with it.
    pub fn lend<T: Send + 'static>(&self, value: T) -> Option<T> {
        self.shared.loans.put(value)
    }

    /// Takes back what was lent, unless a handler holds it or was dropped with it.
    #[must_use]
    pub fn reclaim<T: Send + 'static>(&self) -> Option<T> {
        self.shared.loans.take()
    }
}
