use inbox::Timestamp;
use inbox::settle::{ErrorReport, Settlement};
use inbox::store::Now;
use inbox::store::{
    AttemptRecord, DeliveryState, LeaseLost, LeaseToken, Settle, StateStore, StoreFuture,
};

use crate::MemoryStore;
use crate::table::{Place, Table};

impl StateStore for MemoryStore {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>> {
        self.verb(move |table| {
            let now = now.or_else(Timestamp::now);
            let settle = |settle: Settle| {
                let token = settle.token;
                table.settle(settle, now).ok_or(LeaseLost(token))
            };
            settles.into_iter().map(settle).collect()
        })
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        self.verb(move |table| {
            let now = now.or_else(Timestamp::now);
            tokens.into_iter().map(|token| table.release(token, now)).sum()
        })
    }
}

impl Table {
    /// Nothing, and no trace of it, if the lease does not hold that delivery.
    fn settle(&mut self, settle: Settle, now: Timestamp) -> Option<DeliveryState> {
        let Settle { token, message_id, settlement, carry, .. } = settle;
        let held = self.leases.get_mut(&token)?;
        let handler_key = held.open.remove(&message_id)?;
        let name = (message_id, Some(handler_key.clone()));
        let (leased_at, cancelled) = (held.leased_at, held.cancelled.contains(&message_id));
        let (host, blocks) = (held.host.clone(), held.blocks);
        if held.open.is_empty() {
            self.leases.remove(&token);
        }
        let ready = self.ready();
        let row = self.deliveries.get_mut(&name)?;
        let attempt = row.attempts;
        let failure = |error: ErrorReport| AttemptRecord {
            handler_key,
            attempt,
            host: Some(host),
            leased_at,
            settled_at: now,
            error_type: error.error_type,
            error: error.text,
        };
        let (state, succeeded) = (settlement.state(), matches!(settlement, Settlement::Done(_)));
        let (place, failure) = match settlement {
            Settlement::Done(outcome) => (Place::Done { outcome, at: now }, None),
            Settlement::Retry { after, error } => {
                // Its worker reported back, which ends a row of crashes.
                (row.crashes, row.carry) = (0, carry);
                let (due_at, text) = (Some(now.saturating_add(after)), Some(error.text.clone()));
                (Place::Waiting { due_at, reason: "retry", error: text }, Some(failure(error)))
            }
            Settlement::Dead { reason, error } => {
                let (reason, text) = (reason.as_str(), error.text.clone());
                (Place::Dead { reason, error: text, at: now, blocks }, Some(failure(error)))
            }
            Settlement::Release => {
                row.attempts -= 1;
                (ready, None)
            }
        };
        // Whoever cancelled it wants no other attempt, and no dead letter.
        let (place, state) = match cancelled && !succeeded {
            true => (Place::cancelled(now), DeliveryState::Cancelled),
            false => (place, state),
        };
        row.place = place;
        self.hand_on(&name, now);
        // Others may have waited for room.
        self.bell.ring();
        self.attempts.entry(message_id).or_default().extend(failure);
        Some(state)
    }

    fn release(&mut self, token: LeaseToken, now: Timestamp) -> u64 {
        let Some(held) = self.leases.remove(&token) else { return 0 };
        let mut returned = 0;
        for (id, handler_key) in held.open {
            let cancelled = held.cancelled.contains(&id);
            let place = if cancelled { Place::cancelled(now) } else { self.ready() };
            let name = (id, Some(handler_key));
            if let Some(row) = self.deliveries.get_mut(&name) {
                row.attempts -= 1;
                row.place = place;
                returned += u64::from(!cancelled);
            }
            self.hand_on(&name, now);
        }
        returned
    }
}
