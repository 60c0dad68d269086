use inbox::Timestamp;
use inbox::settle::{DeadReason, ErrorReport};
use inbox::store::{
    AttemptRecord, DeadDelivery, DeliveryState, LeaseToken, Reclaimed, ReclaimedDelivery,
};

use crate::table::{Held, Name, Place, Table};

impl Held {
    /// Whether a delivery is given up that so many workers vanished with. The first two accuse nobody, and the
    /// last one must have held it alone: before that, it may have had a bad neighbour.
    fn gives_up(&self, crashes: u32) -> bool {
        self.alone && crashes.saturating_sub(2) >= self.max_crashes
    }
}

impl Table {
    pub(crate) fn reclaim(&mut self, limit: usize, now: Timestamp) -> Reclaimed {
        let expired = self.leases.iter().filter(|(_, held)| held.expires_at <= now);
        let lost = expired.flat_map(|(token, held)| {
            let name = |id| (id, Some(held.handler_key.clone()));
            held.open.iter().map(move |id| (*token, name(*id)))
        });
        let lost: Vec<_> = lost.take(limit).collect();
        let moved = lost.iter().filter_map(|(token, name)| self.lose(*token, name, now));
        Reclaimed { deliveries: moved.collect() }
    }

    /// Takes one delivery from a worker that vanished. Its attempt is not counted.
    fn lose(
        &mut self,
        token: LeaseToken,
        name: &Name,
        now: Timestamp,
    ) -> Option<ReclaimedDelivery> {
        let ready = self.ready();
        let held = self.leases.get_mut(&token)?;
        held.open.remove(&name.0);
        held.reclaimed = true;
        let row = self.deliveries.get_mut(name)?;
        row.crashes += 1;
        let (crashes, attempt) = (row.crashes, row.attempts);
        row.attempts -= 1;
        let error = ErrorReport::lease_expired();
        let dead = || Place::Dead {
            reason: DeadReason::LeaseExpired.as_str(),
            error: error.text.clone(),
            at: now,
        };
        let (place, state) = match held.cancelled.contains(&name.0) {
            true => (Place::cancelled(now), DeliveryState::Cancelled),
            false if held.gives_up(crashes) => (dead(), DeliveryState::Dead),
            false => (ready, DeliveryState::Pending),
        };
        row.place = place;
        let (host, blocks, handler_key) = (held.host.clone(), held.blocks, name.1.clone()?);
        self.attempts.entry(name.0).or_default().push(AttemptRecord {
            handler_key: handler_key.clone(),
            attempt,
            host: Some(host.clone()),
            leased_at: held.leased_at,
            settled_at: now,
            error_type: error.error_type,
            error: error.text,
        });
        if held.open.is_empty() {
            self.leases.remove(&token);
        }
        self.hand_on(name, blocks, now);
        let (message_id, attempts) = (name.0, attempt - 1);
        Some(ReclaimedDelivery { message_id, handler_key, host, attempts, crashes, state })
    }

    /// The name of a dead delivery, for whoever reports it.
    pub(crate) fn dead_delivery(&self, name: &Name) -> DeadDelivery {
        let attempts = self.deliveries.get(name).map_or(0, |row| row.attempts);
        DeadDelivery {
            message_id: name.0,
            handler_key: name.1.clone().unwrap_or_default(),
            attempts,
        }
    }
}
