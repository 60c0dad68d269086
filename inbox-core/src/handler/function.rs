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
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture {
        // All of it inside the future: what a layer does about a panic or a timeout of the handler,
        // it then does about decoding too.
        Box::pin(async move {
            let run = (self.begin)(&request)?;
            (self.into_result)(run.await)
        })
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
