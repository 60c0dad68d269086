use inbox_core::Timestamp;
use inbox_core::contract::DecodeError;
use inbox_core::dispatch::{CancellationToken, HeldLeases, Pipeline, Request};
use inbox_core::handler::HandlerError;
use inbox_core::message::MessageId;
use inbox_core::settle::Outcome;
use inbox_core::store::Store;

use super::Work;
use crate::Inbox;

/// Who holds the leases of what is dispatched, and keeps them.
pub(crate) trait Watch: Send {
    /// Whether someone wants this delivery stopped, as far as is known here.
    fn is_cancelled(&self, work: &Work) -> bool;

    /// What stops a handler that is about to run under these leases: losing one of them is enough.
    fn cancellation(&mut self, works: &[Work]) -> CancellationToken;

    /// Waits for `run`, keeping all leases meanwhile.
    fn alongside<T: Send>(
        &mut self,
        run: impl Future<Output = T> + Send,
    ) -> impl Future<Output = T> + Send;
}

impl<S: Store> Inbox<S> {
    /// Runs the handler on what is open, and answers what came of it for those it concerns, which
    /// are then not open any more: a delivery that cannot even be tried is answered for alone.
    pub(crate) async fn dispatch(
        &self,
        pipeline: &Pipeline,
        open: &mut Vec<Work>,
        watch: &mut impl Watch,
    ) -> (Outcome, Vec<Work>) {
        for at in 0..open.len() {
            if watch.is_cancelled(&open[at]) {
                return (Outcome::Cancelled, vec![open.remove(at)]);
            }
            let now = open[at].now(&**self.scheduler().clock());
            if let Some(outcome) = self.unfit(&mut open[at], now) {
                return (outcome, vec![open.remove(at)]);
            }
        }
        let Some(request) = request(open, watch) else { return (Outcome::Completed, Vec::new()) };
        request.extend(self.parts().erased.clone());
        let outcome = match watch.alongside(pipeline.run(request.clone())).await {
            Ok(()) if request.is_settled() => Outcome::Settled,
            other => other.into(),
        };
        // Their neighbours in a batch are as if they had not been tried.
        let alone: &[MessageId] = match &outcome {
            Outcome::Failed(HandlerError::Undecodable { message_id, .. }) => {
                std::slice::from_ref(message_id)
            }
            Outcome::Failed(HandlerError::LeaseLost { message_ids }) => message_ids,
            _ => &[],
        };
        let is_alone = |work: &mut Work| alone.contains(&work.message_id);
        let concerned: Vec<_> = open.extract_if(.., is_alone).collect();
        match concerned.is_empty() {
            true => (outcome, std::mem::take(open)),
            false => (outcome, concerned),
        }
    }

    /// Why a delivery must not reach its handler; if there is no reason, its payload is made plain.
    fn unfit(&self, work: &mut Work, now: Timestamp) -> Option<Outcome> {
        let delivery = match &mut work.content {
            Ok(delivery) => delivery,
            Err(reason) => return Some(Outcome::Unreadable(reason.clone())),
        };
        let message = &mut delivery.message;
        if message.deliver_by.is_some_and(|deliver_by| deliver_by < now) {
            return Some(Outcome::Expired);
        }
        if work.is_plain {
            return None;
        }
        let scheduler = self.scheduler();
        let (size, limit) = (message.payload.as_bytes().len(), scheduler.limits().payload);
        if size > limit {
            let error = DecodeError::TooLarge { size, limit };
            let error = HandlerError::Undecodable { message_id: message.id, error };
            return Some(Outcome::Failed(error));
        }
        if let Some(codec) = scheduler.codec() {
            match inbox_core::dispatch::decoded(codec, message) {
                Ok(payload) => message.payload = payload,
                Err(error) => return Some(Outcome::Failed(error)),
            }
        }
        work.is_plain = true;
        None
    }
}

/// The request for one call of the handler.
fn request(open: &[Work], watch: &mut impl Watch) -> Option<Request> {
    let mut deliveries = open.iter().filter_map(|work| work.content.as_ref().ok()).cloned();
    let first = deliveries.next()?;
    let request = Request::batch(first, deliveries.collect(), watch.cancellation(open));
    let leases = open.iter().map(|work| (work.message_id, work.lease.clone()));
    request.extend(leases.collect::<HeldLeases>());
    Some(request)
}
