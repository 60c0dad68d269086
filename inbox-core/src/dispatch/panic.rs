use std::pin::Pin;
use std::task::{Context, Poll};

use tower_service::Service;

use crate::handler::HandlerFuture;
use crate::outcome::{HandlerError, Outcomes};
use crate::panic::{caught, dispose};
use crate::request::Request;

/// Makes an error of a panic, whether of the call, of its future, or of dropping that.
#[derive(Debug, Clone)]
pub(super) struct CatchPanic<S>(pub(super) S);

impl<S> Service<Request> for CatchPanic<S>
where
    S: Service<Request, Response = Outcomes, Error = HandlerError>,
    S::Future: Send + 'static,
{
    type Response = Outcomes;
    type Error = HandlerError;
    type Future = HandlerFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), HandlerError>> {
        caught(|| self.0.poll_ready(context))
            .unwrap_or_else(|panicked| Poll::Ready(Err(panicked.into())))
    }

    fn call(&mut self, request: Request) -> HandlerFuture {
        match caught(|| self.0.call(request)) {
            Ok(future) => Box::pin(Caught(Some(Box::pin(future)))),
            Err(panicked) => Box::pin(std::future::ready(Err(panicked.into()))),
        }
    }
}

struct Caught<F>(Option<Pin<Box<F>>>);

impl<F: Future<Output = Result<Outcomes, HandlerError>>> Future for Caught<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Polled after its end, which nobody should do, it stays silent.
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let result = match caught(|| future.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => result,
            Err(panicked) => Err(panicked.into()),
        };
        self.end();
        Poll::Ready(result)
    }
}

impl<F> Caught<F> {
    /// Drops the handler's future, whose values may panic even then. What the handler said stands.
    fn end(&mut self) {
        dispose(self.0.take());
    }
}

// Dropped in the middle, such as by a timeout.
impl<F> Drop for Caught<F> {
    fn drop(&mut self) {
        self.end();
    }
}
