use std::pin::Pin;
use std::task::{Context, Poll, ready};

use inbox_core::dispatch::{HeldLeases, Request};
use inbox_core::message::MessageId;
use tower_layer::Layer;
use tower_service::Service;

use super::{Entry, Ledger, SeenLease};

/// Notes in a ledger when each delivery of a request starts and when it ends.
#[derive(Debug, Clone)]
pub struct LedgerLayer {
    ledger: Ledger,
}

impl LedgerLayer {
    pub(super) fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

impl<S> Layer<S> for LedgerLayer {
    type Service = Recorded<S>;

    fn layer(&self, inner: S) -> Recorded<S> {
        Recorded { inner, ledger: self.ledger.clone() }
    }
}

/// A service whose runs are noted in a ledger.
#[derive(Debug, Clone)]
pub struct Recorded<S> {
    inner: S,
    ledger: Ledger,
}

impl<S: Service<Request>> Service<Request> for Recorded<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Recording<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Recording<S::Future> {
        // Noted before the call: a service may work in it already, or panic.
        let runs = Runs::start(&self.ledger, &request);
        Recording { inner: Box::pin(self.inner.call(request)), runs }
    }
}

/// A run that is noted in a ledger.
#[derive(Debug)]
pub struct Recording<F> {
    // Dropped in this order: what is dropped midway has stopped before its end is noted.
    inner: Pin<Box<F>>,
    runs: Runs,
}

impl<F, T, E> Future for Recording<F>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let result = ready!(self.inner.as_mut().poll(context));
        self.runs.finish(result.is_ok());
        Poll::Ready(result)
    }
}

/// The runs of one request whose end is not noted yet.
#[derive(Debug)]
struct Runs {
    ledger: Ledger,
    held: Option<HeldLeases>,
    open: Vec<(MessageId, String, u32)>,
}

impl Runs {
    fn start(ledger: &Ledger, request: &Request) -> Self {
        let held = request.extension();
        let mut runs = Self { ledger: ledger.clone(), held, open: Vec::new() };
        let (at, process) = (ledger.now(), std::process::id());
        for delivery in request.deliveries() {
            let (message_id, attempt) = (delivery.message.id, delivery.attempt);
            let handler_key = delivery.handler_key.clone();
            let lease = runs.lease(message_id);
            let open = (message_id, handler_key.clone(), attempt);
            ledger.append(&Entry::Started { message_id, handler_key, attempt, lease, at, process });
            runs.open.push(open);
        }
        runs
    }

    fn finish(&mut self, ok: bool) {
        let at = self.ledger.now();
        for (message_id, handler_key, attempt) in std::mem::take(&mut self.open) {
            let (ledger, lease) = (&self.ledger, self.lease(message_id));
            ledger.append(&Entry::Finished { message_id, handler_key, attempt, lease, ok, at });
        }
    }

    fn lease(&self, message_id: MessageId) -> Option<SeenLease> {
        let held = self.held.as_ref()?.of(message_id)?;
        let (expires_at, renewing_until) = (held.expires_at(), held.renewing_until());
        Some(SeenLease { token: held.token(), expires_at, renewing_until })
    }
}

// Dropped by a timeout, a shutdown or a panic; after an end, nothing is open.
impl Drop for Runs {
    fn drop(&mut self) {
        self.finish(false);
    }
}
