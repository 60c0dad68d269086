use std::pin::Pin;
use std::sync::Arc;

use tower::retry::Policy;

use crate::outcome::{Decision, HandlerError, Outcome, Outcomes, RetryLimits, decide};
use crate::request::Request;

/// Repeats a failed run at once, within its attempt, where [`decide`] says so.
#[derive(Debug, Clone)]
pub(super) struct Repeat(pub(super) Arc<RetryLimits>);

impl Policy<Request, Outcomes, HandlerError> for Repeat {
    type Future = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn retry(
        &mut self,
        request: &mut Request,
        result: &mut Result<Outcomes, HandlerError>,
    ) -> Option<Self::Future> {
        let error = match std::mem::replace(result, Ok(Outcome::NotRun.into())) {
            Err(error) => Outcome::Failed(error),
            Ok(outcomes) => {
                *result = Ok(outcomes);
                return None;
            }
        };
        // The delays of a repetition know no jitter.
        let decision = decide(request.tries(request.delivery()), &error, &self.0, 0);
        if let Outcome::Failed(error) = error {
            tracing::debug!(target: "inbox::dispatch", %error, ?decision, "run failed");
            *result = Err(error);
        }
        let (next, after) = match decision {
            Decision::Repeat(after) => (request.retried(), after),
            Decision::BeginAgain(after) => (request.begun_again(), after),
            Decision::Settle(_) => return None,
        };
        *request = next;
        // Asked to stop meanwhile, it is not begun again, and need not wait for that.
        let stopped = request.cancellation().clone();
        Some(Box::pin(async move {
            stopped.run_until_cancelled_owned(tokio::time::sleep(after)).await;
        }))
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}
