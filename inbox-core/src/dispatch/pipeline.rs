use std::sync::Arc;
use std::time::Duration;

use tower::retry::Retry;
use tower::timeout::Timeout;
use tower::timeout::error::Elapsed;
use tower::util::MapErr;
use tower::{Service, ServiceExt as _};
use tracing::Instrument as _;

use super::Layers;
use super::begin::Begin;
use super::panic::CatchPanic;
use super::retry::Repeat;
use super::transaction::InTransaction;
use crate::error::BoxError;
use crate::handler::{Handler, HandlerDescriptor, HandlerFuture, HandlerService};
use crate::outcome::{Decision, HandlerError, Outcomes, RetryLimits, Tries, decide};
use crate::registry::RegisteredHandler;
use crate::request::Request;
use crate::settle::Settlement;
use crate::store::HandlerTransactions;

/// A handler with everything that stands around it, in this order from the outside: span, panics,
/// immediate retries, whether it was asked to stop, the store's transaction if the handler takes one,
/// timeout, panics again, the user's layers, the handler.
///
/// A panic is caught twice: inside the retries, which may repeat it, and outside of all, where a
/// layer or a stopped handler may still panic.
#[derive(Debug, Clone)]
pub struct Pipeline {
    descriptor: &'static HandlerDescriptor,
    limits: Arc<RetryLimits>,
    service: HandlerService,
    is_transactional: bool,
}

impl Pipeline {
    /// Builds the pipeline of `handler`; what its attribute leaves open is as `defaults` say. If it
    /// takes what the store's `transactions` provide, it runs in one.
    #[must_use]
    pub fn new(
        handler: &RegisteredHandler,
        layers: &Layers,
        transactions: Option<&Arc<dyn HandlerTransactions>>,
        defaults: &RetryLimits,
    ) -> Self {
        let descriptor = handler.descriptor();
        let limits = Arc::new(defaults.of(&descriptor.options));
        let inner = CatchPanic(layers.around(handler.service()));
        let repeat = Repeat(Arc::clone(&limits));
        let transactions = transactions.filter(|it| handler.borrows(it.provides()));
        let service = match (transactions, descriptor.options.timeout) {
            (None, Some(after)) => erased(Retry::new(repeat, limited(Begin(inner), after))),
            (None, None) => erased(Retry::new(repeat, Begin(inner))),
            (Some(transactions), after) => {
                let inner = match after {
                    Some(after) => erased(limited(inner, after)),
                    None => erased(inner),
                };
                let (transactions, limits) = (Arc::clone(transactions), Arc::clone(&limits));
                let inner = InTransaction::service(transactions, limits, inner);
                erased(Retry::new(repeat, Begin(inner)))
            }
        };
        Self { descriptor, limits, service, is_transactional: transactions.is_some() }
    }

    /// What the handler's attribute says.
    #[must_use]
    pub fn descriptor(&self) -> &'static HandlerDescriptor {
        self.descriptor
    }

    /// How often and how its deliveries are tried again.
    #[must_use]
    pub fn limits(&self) -> &RetryLimits {
        &self.limits
    }

    /// Whether it runs in a transaction of the store's, which settles its deliveries too.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.is_transactional
    }

    /// Runs the handler, and answers what came of it for each delivery. Never panics, whatever the handler
    /// does.
    pub async fn run(&self, request: Request) -> Outcomes {
        let span = request.span();
        self.service.clone().oneshot(request).instrument(span).await.unwrap_or_else(Outcomes::from)
    }

    /// What becomes of each delivery of `request` after its run.
    #[must_use]
    pub fn settlements(&self, request: &Request, outcomes: &Outcomes) -> Vec<Settlement> {
        settlements(request, outcomes, &self.limits)
    }
}

/// What becomes of each delivery of `request` whose run is over.
pub(super) fn settlements(
    request: &Request,
    outcomes: &Outcomes,
    limits: &RetryLimits,
) -> Vec<Settlement> {
    let decided = request.deliveries().enumerate().map(|(at, delivery)| {
        // Whoever repeats runs asked before: no repetition is left.
        let tries = Tries { immediate: u32::MAX, conflicts: u32::MAX, ..request.tries(delivery) };
        match decide(tries, outcomes.at(at), limits, fastrand::u64(..)) {
            Decision::Settle(settlement) => settlement,
            Decision::Repeat(_) | Decision::BeginAgain(_) => Settlement::Release,
        }
    });
    decided.collect()
}

/// `inner`, stopped after a while.
fn limited<S>(
    inner: S,
    after: Duration,
) -> MapErr<Timeout<S>, impl FnOnce(BoxError) -> HandlerError + Clone>
where
    S: Service<Request, Response = Outcomes, Error = HandlerError>,
{
    Timeout::new(inner, after).map_err(move |error: BoxError| match error.is::<Elapsed>() {
        true => HandlerError::TimedOut { after },
        false => HandlerError::from_layer(error),
    })
}

/// A stack of services behind a handler's one virtual call.
struct Stack<S>(S);

impl<S> Handler for Stack<S>
where
    S: Service<Request, Response = Outcomes, Error = HandlerError> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture {
        Box::pin(CatchPanic(self.0.clone()).oneshot(request))
    }
}

fn erased<S>(service: S) -> HandlerService
where
    S: Service<Request, Response = Outcomes, Error = HandlerError> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    HandlerService::new(Arc::new(Stack(service)))
}
