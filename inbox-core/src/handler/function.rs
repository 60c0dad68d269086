use std::sync::Arc;

use super::batch::Undecodable;
use super::{Handler, HandlerFuture};
use crate::outcome::{HandlerError, Outcome, Outcomes};
use crate::request::Request;

/// A user's function with all it needs to be called.
struct FunctionHandler<F, R> {
    begin: F,
    // A pointer, so that nothing here depends on what kind of result `R` is.
    into_outcome: fn(R) -> Result<Outcome, HandlerError>,
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
            (self.into_outcome)(run.await).map(Into::into)
        })
    }
}

/// Erases a user's function. `begin` decodes the command, extracts the arguments and calls the
/// function; `into_outcome` reads what came of it.
pub fn handler_fn<F, R, Fut>(
    begin: F,
    into_outcome: fn(R) -> Result<Outcome, HandlerError>,
) -> Arc<dyn Handler>
where
    F: Fn(&Request) -> Result<Fut, HandlerError> + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: 'static,
{
    Arc::new(FunctionHandler { begin, into_outcome })
}

/// A user's function that takes a batch.
struct BatchHandler<F, R> {
    begin: F,
    into_outcomes: fn(R, usize) -> Result<Outcomes, HandlerError>,
}

impl<F, R, Fut> Handler for BatchHandler<F, R>
where
    F: Fn(&Request) -> Result<(Fut, Undecodable), HandlerError> + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: 'static,
{
    fn call(self: Arc<Self>, request: Request) -> HandlerFuture {
        Box::pin(async move {
            let (run, undecodable) = (self.begin)(&request)?;
            let commands = request.len() - undecodable.len();
            match (self.into_outcomes)(run.await, commands) {
                Ok(outcomes) => Ok(undecodable.among(outcomes, request.len())),
                Err(error) => Err(undecodable.beside(error)),
            }
        })
    }
}

/// The same for a function that takes a batch, which is not given what cannot be decoded.
pub fn batch_fn<F, R, Fut>(
    begin: F,
    into_outcomes: fn(R, usize) -> Result<Outcomes, HandlerError>,
) -> Arc<dyn Handler>
where
    F: Fn(&Request) -> Result<(Fut, Undecodable), HandlerError> + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: 'static,
{
    Arc::new(BatchHandler { begin, into_outcomes })
}
