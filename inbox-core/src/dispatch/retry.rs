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
        let Outcome::Failed(error) = error else { return None };
        let is_conflict = matches!(error, HandlerError::Conflict(_));
        if let Decision::Repeat(_) = decision {
            tracing::debug!(%error, is_conflict, "run repeated");
        }
        *result = Err(error);
        let Decision::Repeat(after) = decision else { return None };
        *request = if is_conflict { request.after_conflict() } else { request.retried() };
        Some(Box::pin(tokio::time::sleep(after)))
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}
