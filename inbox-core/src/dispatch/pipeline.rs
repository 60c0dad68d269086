use std::sync::Arc;
use std::time::Duration;

use tower::retry::Retry;
use tower::timeout::Timeout;
use tower::timeout::error::Elapsed;
use tower::util::MapErr;
use tower::{Service, ServiceExt as _};
use tracing::Instrument as _;

use super::panic::CatchPanic;
use super::retry::Immediate;
use super::unit::InUnit;
use super::{HandlerService, Layers, Request, Unit};
use crate::handler::{BoxError, Handler, HandlerDescriptor, HandlerError, HandlerFuture};
use crate::registry::RegisteredHandler;
use crate::settle::Chances;

/// A handler with everything that stands around it, in this order from the outside: span, panics,
/// immediate retries, the store's transaction if the handler takes one, timeout, panics again, the
/// user's layers, the handler.
///
/// A panic is caught twice: inside the retries, which may repeat it, and outside of all, where a
/// layer or a stopped handler may still panic.
#[derive(Debug, Clone)]
pub struct Pipeline {
    descriptor: &'static HandlerDescriptor,
    chances: Chances,
    service: HandlerService,
    in_unit: bool,
}

impl Pipeline {
    /// Builds the pipeline of `handler`; what its attribute leaves open is as `defaults` say. If it
    /// takes what the store's `unit` lends, it runs in one.
    #[must_use]
    pub fn new(
        handler: &RegisteredHandler,
        layers: &Layers,
        unit: Option<&Arc<dyn Unit>>,
        defaults: &Chances,
    ) -> Self {
        let descriptor = handler.descriptor();
        let chances = defaults.of(&descriptor.options);
        let inner = CatchPanic(layers.around(handler.service()));
        let retry = Immediate::new(chances.retry.clone());
        let unit = unit.filter(|unit| handler.borrows(unit.lends()));
        let service = match (unit, descriptor.options.timeout) {
            (None, Some(after)) => erased(Retry::new(retry, limited(inner, after))),
            (None, None) => erased(Retry::new(retry, inner)),
            (Some(unit), after) => {
                let inner = match after {
                    Some(after) => erased(limited(inner, after)),
                    None => erased(inner),
                };
                erased(Retry::new(retry, InUnit::service(Arc::clone(unit), inner)))
            }
        };
        Self { descriptor, chances, service, in_unit: unit.is_some() }
    }

    /// What the handler's attribute says.
    #[must_use]
    pub fn descriptor(&self) -> &'static HandlerDescriptor {
        self.descriptor
    }

    /// How often and how its deliveries are tried again.
    #[must_use]
    pub fn chances(&self) -> &Chances {
        &self.chances
    }

    /// Whether it runs in a transaction of the store's, which settles its deliveries too.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.in_unit
    }

    /// Runs the handler. Never panics, whatever the handler does.
    ///
    /// # Errors
    /// When the handler or something around it fails.
    pub async fn run(&self, request: Request) -> Result<(), HandlerError> {
        let delivery = request.delivery();
        let span = tracing::info_span!(
            "dispatch",
            handler_key = delivery.handler_key,
            contract = delivery.message.contract,
            message_id = %delivery.message.id,
            attempt = delivery.attempt,
        );
        self.service.clone().oneshot(request).instrument(span).await
    }
}

/// `inner`, stopped after a while.
fn limited(
    inner: CatchPanic<HandlerService>,
    after: Duration,
) -> MapErr<Timeout<CatchPanic<HandlerService>>, impl FnOnce(BoxError) -> HandlerError + Clone> {
    Timeout::new(inner, after).map_err(move |error: BoxError| match error.is::<Elapsed>() {
        true => HandlerError::TimedOut { after },
        false => HandlerError::from_layer(error),
    })
}

/// A stack of services behind a handler's one virtual call.
struct Stack<S>(S);

impl<S> Handler for Stack<S>
where
    S: Service<Request, Response = (), Error = HandlerError> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture {
        Box::pin(CatchPanic(self.0.clone()).oneshot(request))
    }
}

fn erased<S>(service: S) -> HandlerService
where
    S: Service<Request, Response = (), Error = HandlerError> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    HandlerService::new(Arc::new(Stack(service)))
}
