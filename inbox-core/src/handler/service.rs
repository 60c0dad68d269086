use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use super::{Handler, HandlerFuture};
use crate::outcome::{HandlerError, Outcomes};
use crate::request::Request;

/// A handler as a `tower` service, the innermost of its layers.
#[derive(Clone)]
pub struct HandlerService(Arc<dyn Handler>);

impl HandlerService {
    /// The service that calls `handler`.
    #[must_use]
    pub fn new(handler: Arc<dyn Handler>) -> Self {
        Self(handler)
    }
}

impl Service<Request> for HandlerService {
    type Response = Outcomes;
    type Error = HandlerError;
    type Future = HandlerFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HandlerError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> HandlerFuture {
        Arc::clone(&self.0).call(request)
    }
}

impl std::fmt::Debug for HandlerService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandlerService").finish_non_exhaustive()
    }
}
