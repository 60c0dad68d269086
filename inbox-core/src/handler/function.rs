use std::future::ready;
use std::sync::Arc;

use super::{Handler, HandlerError, HandlerFuture};
use crate::dispatch::Request;

/// A user's function with all it needs to be called.
struct FunctionHandler<F, R> {
    begin: F,
    // A pointer, so that nothing here depends on what kind of result `R` is.
    into_result: fn(R) -> Result<(), HandlerError>,
}

impl<F, R, Fut> Handler for FunctionHandler<F, R>
where
    F: Fn(&Request) -> Result<Fut, HandlerError> + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: 'static,
{
    fn call(&self, request: Request) -> HandlerFuture {
        let into_result = self.into_result;
        match (self.begin)(&request) {
            Ok(run) => Box::pin(async move { into_result(run.await) }),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }
}

/// Erases a user's function. `begin` decodes the command, extracts the arguments and calls the
/// function; `into_result` judges what came of it.
pub fn handler_fn<F, R, Fut>(
    begin: F,
    into_result: fn(R) -> Result<(), HandlerError>,
) -> Arc<dyn Handler>
where
    F: Fn(&Request) -> Result<Fut, HandlerError> + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: 'static,
{
    Arc::new(FunctionHandler { begin, into_result })
}
