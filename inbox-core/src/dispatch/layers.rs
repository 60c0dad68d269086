use std::fmt;
use std::sync::Arc;

use tower::ServiceExt as _;
use tower_layer::Layer;
use tower_service::Service;

use crate::error::BoxError;
use crate::handler::{Handler, HandlerFuture, HandlerService};
use crate::outcome::{HandlerError, Outcomes};
use crate::request::Request;

/// The layers that users put around every handler, outermost last.
#[derive(Clone, Default)]
pub struct Layers(Vec<Arc<Wrap>>);

type Wrap = dyn Fn(HandlerService) -> HandlerService + Send + Sync;

impl Layers {
    /// Puts `layer` around those that are there.
    pub fn push<L>(&mut self, layer: L)
    where
        L: Layer<HandlerService> + Send + Sync + 'static,
        L::Service: Service<Request, Response = Outcomes> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Error: Into<BoxError>,
        <L::Service as Service<Request>>::Future: Send,
    {
        let wrap = move |inner| HandlerService::new(Arc::new(Layered(layer.layer(inner))));
        self.0.push(Arc::new(wrap));
    }

    /// The handler with all layers around it.
    #[must_use]
    pub fn around(&self, handler: HandlerService) -> HandlerService {
        self.0.iter().fold(handler, |inner, wrap| wrap(inner))
    }
}

/// A service of any type behind a handler's one virtual call.
struct Layered<S>(S);

impl<S> Handler for Layered<S>
where
    S: Service<Request, Response = Outcomes> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture {
        let deliveries = request.len();
        let run = self.0.clone().oneshot(request);
        Box::pin(async move {
            let outcomes = run.await.map_err(|error| HandlerError::from_layer(error.into()))?;
            outcomes.for_all_of(deliveries)
        })
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layers({})", self.0.len())
    }
}
