use std::time::Duration;

use inbox_core::contract::DecodeError;
use inbox_core::dispatch::{Pipeline, decode};
use inbox_core::dispose;
use inbox_core::outcome::HandlerError;
use inbox_core::outcome::{Outcome, Tries};
use inbox_core::request::{Attempt, HeldLease, LaneRun, Request};
use inbox_core::store::Store;
use tokio::time::Instant;

use super::decided::{Decided, decided};
use crate::host::shared::Shared;
use crate::host::{DeliveryInfo, Event};

/// What came of one call.
#[derive(Debug)]
pub(super) struct Finished {
    /// What is to become of its deliveries, those excepted whose lease was lost before their turn.
    pub(super) decided: Vec<Decided>,
    /// The runs of those whose lease was lost.
    pub(super) lost: Vec<LaneRun>,
    pub(super) took: Duration,
}

/// Calls the handler for these deliveries, and decides what becomes of each.
pub(super) async fn run<S: Store>(
    shared: &Shared<S>,
    pipeline: &Pipeline,
    attempts: Vec<Attempt>,
) -> Finished {
    let began = Instant::now();
    let (mut all, mut lost) = (Vec::with_capacity(attempts.len()), Vec::new());
    let mut open = Vec::with_capacity(attempts.len());
    for mut attempt in attempts {
        match shared.obstacle(&mut attempt) {
            None => open.push(attempt),
            Some(Obstacle::LeaseLost) => {
                lost.extend(attempt.run().cloned());
                shared.observers.tell(|| Event::LeaseLost(DeliveryInfo::from(&attempt)));
            }
            Some(Obstacle::Outcome(outcome)) => {
                let tries = Tries { attempt: attempt.delivery().attempt, ..Tries::default() };
                let settlement = decided(tries, &outcome, pipeline.limits());
                all.extend(Decided::new(&attempt, settlement));
                dispose(outcome);
            }
        }
    }
    let mut open = open.into_iter();
    if let Some(first) = open.next() {
        let scheduler = shared.inbox.parts().erased.clone();
        let request = Request::new(first, open.collect(), scheduler);
        for attempt in request.attempts() {
            shared.observers.tell(|| Event::Dispatched(DeliveryInfo::from(attempt)));
        }
        let running = shared.leases.begin(&request);
        let outcomes = pipeline.run(request.clone()).await;
        for (at, attempt) in request.attempts().enumerate() {
            log_reason(attempt, outcomes.at(at));
        }
        match request.settled() {
            Some(settled) => {
                for (attempt, (settlement, state)) in request.attempts().zip(settled) {
                    all.extend(Decided::written(attempt, settlement.clone(), *state));
                }
            }
            None => {
                let settlements = pipeline.settlements(&request, &outcomes);
                for (attempt, settlement) in request.attempts().zip(settlements) {
                    all.extend(Decided::new(attempt, settlement));
                }
            }
        }
        // Only now: until then the cause tells why the run was stopped.
        drop(running);
        // A user's error may do anything, even now.
        dispose(outcomes);
    }
    Finished { decided: all, lost, took: began.elapsed() }
}

/// Says in the delivery's span why its handler ended it, or did not begin: nobody else keeps the reason.
fn log_reason(attempt: &Attempt, outcome: &Outcome) {
    attempt.span().in_scope(|| match outcome {
        Outcome::Discard { reason } => {
            tracing::info!(target: "inbox::dispatch", reason, "handler discarded the delivery");
        }
        Outcome::Cancel { reason } => {
            tracing::info!(target: "inbox::dispatch", reason, "handler cancelled the delivery");
        }
        Outcome::Failed(HandlerError::TransactionNotBegun(error)) => {
            tracing::warn!(target: "inbox::dispatch", %error, "transaction not begun");
        }
        _ => {}
    });
}

/// Why a delivery must not reach its handler.
enum Obstacle {
    LeaseLost,
    Outcome(Outcome),
}

impl From<HandlerError> for Obstacle {
    fn from(error: HandlerError) -> Self {
        Self::Outcome(Outcome::Failed(error))
    }
}

impl<S: Store> Shared<S> {
    /// Why a delivery must not reach its handler; if there is no reason, its payload is made plain.
    fn obstacle(&self, attempt: &mut Attempt) -> Option<Obstacle> {
        let scheduler = self.inbox.scheduler();
        let lease = attempt.lease().cloned();
        if let Some(obstacle) =
            lease.as_ref().and_then(|lease| self.lost_or_cancelled(lease, attempt))
        {
            return Some(obstacle);
        }
        let message = &mut attempt.delivery_mut().message;
        let now = lease.map(|lease| lease.now(&**scheduler.clock()));
        if message.deliver_by.zip(now).is_some_and(|(deliver_by, now)| deliver_by < now) {
            return Some(Obstacle::Outcome(Outcome::Expired));
        }
        let (size, limit) = (message.payload.as_bytes().len(), scheduler.limits().payload);
        if size > limit {
            let error = DecodeError::TooLarge { size, limit };
            return Some(HandlerError::Undecodable { message_id: message.id, error }.into());
        }
        scheduler.codec().and_then(|codec| decode(codec, message).err()).map(Obstacle::from)
    }

    /// Some time may have passed since this was planned, if the process stood still.
    fn lost_or_cancelled(&self, lease: &HeldLease, attempt: &Attempt) -> Option<Obstacle> {
        let (leases, token) = (&self.leases, lease.token());
        if leases.may_begin(token) {
            let is_cancelled = leases.is_cancelled(token, attempt.message_id());
            return is_cancelled.then(|| Obstacle::Outcome(Outcome::cancel("asked to stop")));
        }
        Some(match leases.is_held(token) {
            // A renewal that is under way may turn out to have been in time.
            true => Obstacle::Outcome(Outcome::NotRun),
            false => Obstacle::LeaseLost,
        })
    }
}
