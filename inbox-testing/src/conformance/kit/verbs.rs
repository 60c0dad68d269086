use std::sync::Arc;
use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::message::{Envelope, MessageId};
use inbox_core::schedule::Start;
use inbox_core::settle::{DeadReason, DoneOutcome, ErrorReport, Settlement};
use inbox_core::store::{
    Accepted, Cancelled, DeliveryState, KnownRoute, Lane, LaneFilter, LaneRecord, LeaseLost,
    LeaseToken, OnDead, Reclaimed, Renewed, Route, Settle,
};

use super::bench::{Bench, must};
use super::{Held, is_new};

pub(crate) const DONE: Settlement = Settlement::Done(DoneOutcome::Completed);

/// The error of the cases, with characters that a statement made of text would stumble over.
pub(crate) fn failure() -> ErrorReport {
    ErrorReport::new("gateway::Declined", "the gateway's answer: \"no\";\n -- déclined 🦀")
}

pub(crate) fn fail_after(after: Duration) -> Settlement {
    Settlement::Retry { after, error: failure() }
}

pub(crate) fn dead(reason: DeadReason) -> Settlement {
    Settlement::Dead { reason, error: failure() }
}

pub(crate) fn route_of(contract: &str, handler_key: &str, supersedes: &[&str]) -> Route {
    let supersedes = supersedes.iter().map(|&key| key.to_owned()).collect();
    Route {
        contract: contract.to_owned(),
        handler_key: handler_key.to_owned(),
        supersedes,
        context: String::new(),
        on_dead: OnDead::Block,
    }
}

impl Bench {
    pub(crate) async fn accept(&self, envelopes: Vec<Envelope>) -> Vec<Accepted> {
        let given = envelopes.len();
        let answers = must("accept", self.store.accept(envelopes.into(), self.at()).await);
        assert_eq!(answers.len(), given, "accept answers for every envelope");
        answers
    }

    pub(crate) async fn accept_one(&self, envelope: Envelope) -> MessageId {
        let id = envelope.message.id;
        let envelopes: Arc<[Envelope]> = [envelope].into();
        let answers = must("accept", self.store.accept(envelopes, self.at()).await);
        assert!(answers.len() == 1 && is_new(&answers[0]), "it should be new: {answers:?}");
        id
    }

    pub(crate) async fn register(&self, contract: &str, handler_key: &str) {
        self.register_all(vec![route_of(contract, handler_key, &[])]).await;
    }

    pub(crate) async fn register_all(&self, routes: Vec<Route>) -> Vec<KnownRoute> {
        must("register_routes", self.store.register_routes(routes, self.at()).await)
    }

    pub(crate) async fn route(&self, limit: u32) -> u64 {
        must("route", self.store.route(limit, self.at()).await)
    }

    pub(crate) async fn promote(&self, limit: u32) -> u64 {
        must("promote", self.store.promote(limit, self.at()).await)
    }

    pub(crate) async fn next_due(&self) -> Option<Duration> {
        must("next_due", self.store.next_due(self.at()).await)
    }

    pub(crate) async fn reclaim(&self, limit: u32) -> Reclaimed {
        must("reclaim", self.store.reclaim(limit, self.at()).await)
    }

    pub(crate) async fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
    ) -> Vec<Result<Timestamp, LeaseLost>> {
        let renewed = self.renew_fully(tokens, duration).await;
        let until = |renewed: Renewed| {
            assert!(renewed.cancelled.is_empty(), "nobody cancelled {:?}", renewed.cancelled);
            renewed.expires_at
        };
        renewed.into_iter().map(|answer| answer.map(until)).collect()
    }

    /// The same, with what was cancelled.
    pub(crate) async fn renew_fully(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
    ) -> Vec<Result<Renewed, LeaseLost>> {
        must("renew", self.store.renew(tokens, duration, self.at()).await)
    }

    pub(crate) async fn release(&self, tokens: Vec<LeaseToken>) -> u64 {
        must("release", self.store.release(tokens, self.at()).await)
    }

    pub(crate) async fn settle_all(&self, settles: Vec<Settle>) -> Vec<Result<(), LeaseLost>> {
        let asked: Vec<_> = settles.iter().map(|settle| settle.settlement.state()).collect();
        let answers = must("settle", self.store.settle(settles, self.at()).await);
        for (asked, answer) in asked.into_iter().zip(&answers) {
            let fits = |state| state == asked || state == DeliveryState::Cancelled;
            assert!(answer.is_ok_and(fits) || answer.is_err(), "{asked} was answered {answer:?}");
        }
        answers.into_iter().map(|answer| answer.map(drop)).collect()
    }

    pub(crate) async fn settle(
        &self,
        held: &Held,
        settlement: Settlement,
    ) -> Result<DeliveryState, LeaseLost> {
        let settles = vec![held.settle(settlement)];
        let answers = must("settle", self.store.settle(settles, self.at()).await);
        assert_eq!(answers.len(), 1, "settle answers for every delivery");
        answers[0]
    }

    /// Settles a delivery that is still held.
    pub(crate) async fn settled(&self, held: &Held, settlement: Settlement) {
        let state = settlement.state();
        let answer = self.settle(held, settlement).await;
        assert_eq!(answer, Ok(state), "the lease is still held");
    }

    pub(crate) async fn cancel(&self, id: MessageId, handler_key: Option<&str>) -> Cancelled {
        must("cancel", self.store.cancel(id, handler_key, self.at()).await)
    }

    pub(crate) async fn reschedule(
        &self,
        id: MessageId,
        handler_key: Option<&str>,
        start: Start,
    ) -> u64 {
        must("reschedule", self.store.reschedule(id, handler_key, start, self.at()).await)
    }

    pub(crate) async fn lanes(&self, filter: LaneFilter) -> Vec<LaneRecord> {
        must("lanes", self.store.lanes(filter).await)
    }

    pub(crate) async fn unblock(&self, lane: &Lane) -> bool {
        must("unblock", self.store.unblock(lane, self.at()).await)
    }

    pub(crate) async fn mend(&self, limit: u32) -> u64 {
        must("mend", self.store.mend(limit, self.at()).await)
    }

    pub(crate) async fn retry(&self, id: MessageId, handler_key: &str) -> bool {
        must("retry", self.store.retry(id, handler_key, self.at()).await)
    }
}

impl Held {
    pub(crate) fn settle(&self, settlement: Settlement) -> Settle {
        Settle::new(self.token, &self.delivery, settlement)
    }
}
