use std::pin::Pin;
use std::task::{Context, Poll, ready};

use inbox_core::outcome::{Outcome, Outcomes};
use inbox_core::request::{Attempt, Request};
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

impl<S: Service<Request, Response = Outcomes>> Service<Request> for Recorded<S> {
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

impl<F, E> Future for Recording<F>
where
    F: Future<Output = Result<Outcomes, E>>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let result = ready!(self.inner.as_mut().poll(context));
        self.runs.finish(result.as_ref().ok());
        Poll::Ready(result)
    }
}

/// The runs of one request whose end is not noted yet.
#[derive(Debug)]
struct Runs {
    ledger: Ledger,
    request: Option<Request>,
}

impl Runs {
    fn start(ledger: &Ledger, request: &Request) -> Self {
        let (at, process) = (ledger.now(), std::process::id());
        for attempt in request.attempts() {
            let delivery = attempt.delivery();
            ledger.append(&Entry::Started {
                message_id: delivery.message.id,
                handler_key: delivery.handler_key.clone(),
                attempt: delivery.attempt,
                lease: seen(attempt),
                at,
                process,
            });
        }
        Self { ledger: ledger.clone(), request: Some(request.clone()) }
    }

    /// Notes the end of each run, and whether it succeeded.
    fn finish(&mut self, outcomes: Option<&Outcomes>) {
        let Some(request) = self.request.take() else { return };
        let at = self.ledger.now();
        for (position, attempt) in request.attempts().enumerate() {
            let delivery = attempt.delivery();
            let outcome = outcomes.map(|outcomes| outcomes.at(position));
            self.ledger.append(&Entry::Finished {
                message_id: delivery.message.id,
                handler_key: delivery.handler_key.clone(),
                attempt: delivery.attempt,
                lease: seen(attempt),
                ok: matches!(outcome, Some(Outcome::Completed)),
                at,
            });
        }
    }
}

fn seen(attempt: &Attempt) -> Option<SeenLease> {
    let held = attempt.lease()?;
    let (expires_at, renewing_until) = (held.expires_at(), held.renewing_until());
    Some(SeenLease { token: held.token(), expires_at, renewing_until })
}

// Dropped by a timeout, a shutdown or a panic; after an end, nothing is open.
impl Drop for Runs {
    fn drop(&mut self) {
        self.finish(None);
    }
}
