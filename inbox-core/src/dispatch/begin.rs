use std::task::{Context, Poll};

use tower_service::Service;

use crate::handler::HandlerFuture;
use crate::outcome::{HandlerError, Outcome, Outcomes};
use crate::request::Request;

/// Begins no run that was asked to stop before its turn: its lease is lost, the host shuts down, or nobody
/// wants it any more. Stands inside the immediate retries, between which that may happen.
#[derive(Debug, Clone)]
pub(super) struct Begin<S>(pub(super) S);

impl<S> Service<Request> for Begin<S>
where
    S: Service<Request, Response = Outcomes, Error = HandlerError, Future = HandlerFuture>,
{
    type Response = Outcomes;
    type Error = HandlerError;
    type Future = HandlerFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), HandlerError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> HandlerFuture {
        match request.cancel_cause() {
            None => self.0.call(request),
            Some(_) => Box::pin(std::future::ready(Ok(Outcome::NotRun.into()))),
        }
    }
}
