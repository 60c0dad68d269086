use std::pin::Pin;

use tower::retry::Policy;

use super::Request;
use crate::handler::HandlerError;
use crate::policy::RetryPolicy;

/// Repeats a failed run at once, within its attempt.
#[derive(Debug, Clone)]
pub(super) struct Immediate {
    policy: RetryPolicy,
}

impl Immediate {
    pub(super) fn new(policy: RetryPolicy) -> Self {
        Self { policy }
    }
}

impl Policy<Request, (), HandlerError> for Immediate {
    type Future = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn retry(
        &mut self,
        request: &mut Request,
        result: &mut Result<(), HandlerError>,
    ) -> Option<Self::Future> {
        let again = match result {
            // What was perhaps committed must not be done again, unless a lease fences it.
            Ok(())
            | Err(
                HandlerError::Undecodable { .. }
                | HandlerError::LeaseLost { .. }
                | HandlerError::Unsure(_),
            ) => false,
            Err(_) => request.immediate_retries() < self.policy.immediate,
        };
        if !again || request.cancellation().is_cancelled() {
            return None;
        }
        *request = request.retried();
        Some(Box::pin(tokio::time::sleep(self.policy.immediate_delay)))
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}
