use std::time::Duration;

use fastrand::Rng;
use inbox::MessageId;
use inbox::postgres::PostgresStore;
use inbox::schedule::{ScheduleOptions, Start};
use inbox::settle::{DeadReason, DoneOutcome, ErrorReport, Settlement};
use inbox::store::{
    DeliveryFilter, DeliveryState, Inspect as _, LaneFilter, LeaseRequest, LeaseStore as _,
    LeaseToken, Maintain as _, Now, OrphanTerms, Settle, StateStore as _,
};

use crate::bench::{Bench, HANDLERS, Pay, wanted};

/// Short, so that many are lost.
const HOLD: Duration = Duration::from_millis(60);

impl Bench {
    /// Does something, whatever that is.
    pub(crate) async fn step(&self, store: &PostgresStore, random: &mut Rng) {
        let now = Now::OfStore;
        match random.u8(0..25) {
            0..2 => self.schedule(random).await,
            2..7 => self.claim(store, random).await,
            7..13 => self.settle(store, random).await,
            13 => self.cancel(store, random).await,
            14..16 => self.reschedule(store, random).await,
            16 => {
                let tokens = self.some_held(random).into_iter().map(|(token, _)| token).collect();
                self.noted("release", store.release(tokens, now).await);
            }
            17 => {
                let tokens = self.some_held(random).into_iter().map(|(token, _)| token).collect();
                self.noted("renew", store.renew(tokens, HOLD, now).await);
            }
            18 => self.retry(store, random).await,
            19 => self.unblock(store, random).await,
            20 => drop(self.noted("mend", store.mend(10, now).await)),
            21 => self.give_up_orphans(store).await,
            22 | 23 => drop(self.noted("promote", store.promote(10, now).await)),
            _ => drop(self.noted("reclaim", store.reclaim(10, now).await)),
        }
    }

    async fn schedule(&self, random: &mut Rng) {
        let inbox = &self.inboxes[random.usize(0..2)];
        let pay = || Pay { lane: random.u32(0..3), merchant: random.u32(0..2) };
        let batch: Vec<_> = std::iter::repeat_with(pay).take(4).collect();
        let batch = batch.into_iter().map(|pay| (pay, ScheduleOptions::new()));
        for receipt in inbox.scheduler().schedule_all(batch).await.unwrap() {
            self.messages.lock().unwrap().push(receipt.unwrap().message_id());
        }
    }

    async fn claim(&self, store: &PostgresStore, random: &mut Rng) {
        let host = format!("host-{}", random.u8(0..4));
        let mut wanted = wanted(random.u32(1..6));
        random.shuffle(&mut wanted);
        let request = LeaseRequest::new(host, HOLD, wanted);
        let quarantine = std::num::NonZeroU32::new(2);
        let request = LeaseRequest { quarantine, ..request };
        for lease in
            self.noted("claim", store.lease(request, Now::OfStore).await).unwrap_or_default()
        {
            let ids = lease.deliveries.iter().map(|delivery| (lease.token, delivery.message.id));
            self.held.lock().unwrap().extend(ids);
        }
    }

    /// Some of those that were held lately; others may do something with them too.
    fn some_held(&self, random: &mut Rng) -> Vec<(LeaseToken, MessageId)> {
        let held = self.held.lock().unwrap();
        let lately = &held[held.len().saturating_sub(20)..];
        lately.iter().filter(|_| random.bool()).copied().collect()
    }

    async fn settle(&self, store: &PostgresStore, random: &mut Rng) {
        let settlement = |random: &mut Rng| {
            let error = ErrorReport::new("test", "no");
            match random.u8(0..8) {
                0 => Settlement::Dead { reason: DeadReason::Undecodable, error },
                1 | 2 => {
                    Settlement::Retry { after: Duration::from_millis(random.u64(0..20)), error }
                }
                3 => Settlement::Release,
                _ => Settlement::Done(DoneOutcome::Completed),
            }
        };
        let all_done = random.bool();
        let mut settles: Vec<_> = self
            .some_held(random)
            .into_iter()
            .map(|(token, message_id)| {
                let settlement = match all_done {
                    true => Settlement::Done(DoneOutcome::Completed),
                    false => settlement(random),
                };
                Settle::by_id(token, message_id, settlement)
            })
            .collect();
        random.shuffle(&mut settles);
        self.noted("settle", store.settle(settles, Now::OfStore).await);
    }

    fn a_message(&self, random: &mut Rng) -> Option<MessageId> {
        random.choice(&*self.messages.lock().unwrap()).copied()
    }

    async fn cancel(&self, store: &PostgresStore, random: &mut Rng) {
        let Some(id) = self.a_message(random) else { return };
        let key = random.bool().then(|| HANDLERS[random.usize(0..3)]);
        self.noted("cancel", store.cancel(id, key, Now::OfStore).await);
    }

    async fn reschedule(&self, store: &PostgresStore, random: &mut Rng) {
        let Some(id) = self.a_message(random) else { return };
        let key = random.bool().then(|| HANDLERS[random.usize(0..3)]);
        let start = Start::After(Duration::from_millis(random.u64(0..3) * 10));
        self.noted("reschedule", store.reschedule(id, key, start, Now::OfStore).await);
    }

    async fn retry(&self, store: &PostgresStore, random: &mut Rng) {
        let dead = DeliveryFilter::in_state(DeliveryState::Dead);
        let Some(dead) = self.noted("list", store.list(dead).await) else { return };
        let Some(dead) = random.choice(dead.deliveries) else { return };
        let key = dead.handler_key.unwrap_or_default();
        self.noted("retry", store.retry(dead.message_id, &key, Now::OfStore).await);
    }

    /// Workers serve all keys, and none of them ever said so.
    async fn give_up_orphans(&self, store: &PostgresStore) {
        let (terms, now) = (
            OrphanTerms { grace: Duration::ZERO, alive_for: Duration::from_mins(1) },
            Now::OfStore,
        );
        self.noted("announce", store.announce("idle", Vec::new(), now).await);
        self.noted("give up", store.give_up_orphans(terms, 2, now).await);
    }

    async fn unblock(&self, store: &PostgresStore, random: &mut Rng) {
        let Some(lanes) = self.noted("lanes", store.lanes(LaneFilter::blocked()).await) else {
            return;
        };
        let Some(lane) = random.choice(lanes) else { return };
        self.noted("unblock", store.unblock(&lane.lane, Now::OfStore).await);
    }
}
