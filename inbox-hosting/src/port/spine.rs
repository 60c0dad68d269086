use std::sync::Arc;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::Envelope;
use inbox_core::store::{
    Accepted, Bell, DeliveryState, HandlerTransactions, Lease, LeaseLost, LeaseRequest, LeaseStore,
    LeaseToken, Listening, Renewed, Renewer, Settle, StateStore, StoreFuture, Writer,
};

use super::renewer::MeteredRenewer;
use super::transactions::MeteredTransactions;
use super::{Port, StoreVerb};

impl<S: Writer> Writer for Port<S> {
    delegate! {
        accept(envelopes: Arc<[Envelope]>, now: Now) -> Vec<Accepted> => Accept, |all| Some(stored(all));
    }

    fn wake(&self) {
        self.store.wake();
    }
}

impl<S: LeaseStore> LeaseStore for Port<S> {
    delegate! {
        lease(request: LeaseRequest, now: Now) -> Vec<Lease> => Lease, |leases| Some(claimed(leases));
        renew(tokens: Vec<LeaseToken>, duration: Duration, now: Now)
            -> Vec<Result<Renewed, LeaseLost>> => Renew, |_| None;
    }

    fn renewer(&self) -> Option<Box<dyn Renewer>> {
        let renewer = self.store.renewer()?;
        Some(Box::new(MeteredRenewer { renewer, meter: Arc::clone(&self.meter) }))
    }

    fn bell(&self) -> Option<&Bell> {
        self.store.bell()
    }

    fn listen(&self) -> Option<StoreFuture<'_, Listening>> {
        Some(self.call(StoreVerb::Listen, self.store.listen()?, |_| None))
    }
}

impl<S: StateStore> StateStore for Port<S> {
    delegate! {
        settle(settles: Vec<Settle>, now: Now)
            -> Vec<Result<DeliveryState, LeaseLost>> => Settle, |written| Some(settled(written));
        release(tokens: Vec<LeaseToken>, now: Now) -> u64 => Release, |ready| Some(*ready);
    }

    fn abandon(&self, tokens: Vec<LeaseToken>, now: Now) {
        // Most of those that are dropped hold nothing.
        if !tokens.is_empty() {
            self.meter.of(StoreVerb::Abandon).begun();
        }
        self.store.abandon(tokens, now);
    }

    fn transactions(&self) -> Option<Arc<dyn HandlerTransactions>> {
        let transactions = self.store.transactions()?;
        Some(Arc::new(MeteredTransactions { transactions, meter: Arc::clone(&self.meter) }))
    }
}

fn stored(accepted: &[Accepted]) -> u64 {
    let new = accepted.iter().filter(|one| matches!(one, Accepted::New { .. }));
    new.count() as u64
}

fn claimed(leases: &[Lease]) -> u64 {
    let count = |lease: &Lease| lease.deliveries.len() + lease.unreadable.len();
    leases.iter().map(count).sum::<usize>() as u64
}

fn settled(written: &[Result<DeliveryState, LeaseLost>]) -> u64 {
    written.iter().filter(|one| one.is_ok()).count() as u64
}
