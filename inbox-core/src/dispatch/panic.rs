use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tower_service::Service;

use super::Request;
use crate::handler::{HandlerError, HandlerFuture};
use crate::settle::Outcomes;

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
        caught(|| self.0.poll_ready(context)).unwrap_or_else(|error| Poll::Ready(Err(error)))
    }

    fn call(&mut self, request: Request) -> HandlerFuture {
        match caught(|| self.0.call(request)) {
            Ok(future) => Box::pin(Caught(Some(Box::pin(future)))),
            Err(error) => Box::pin(std::future::ready(Err(error))),
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
            Err(error) => Err(error),
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

pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Result<T, HandlerError> {
    // What a panic leaves half-done belongs to the request, which ends with it.
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let error = panicked(&*payload);
        // Dropping what a panic carries may panic again.
        std::mem::forget(payload);
        error
    })
}

fn panicked(payload: &(dyn Any + Send)) -> HandlerError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    HandlerError::Panicked { message: text.unwrap_or("it said nothing").to_owned() }
}

/// Drops what a user made. A panic of its `Drop` is logged and goes no further.
pub fn dispose<T>(value: T) {
    if let Err(error) = caught(|| drop(value)) {
        tracing::warn!(%error, "a handler's value panicked while it was dropped");
    }
}
