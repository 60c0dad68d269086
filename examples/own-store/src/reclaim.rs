use inbox::Timestamp;
use inbox::settle::{DeadReason, ErrorReport};
use inbox::store::{AttemptRecord, DeadDelivery, LeaseToken, Reclaimed};

use crate::table::{Name, Place, Table};

/// What became of a delivery whose worker vanished.
enum Lost {
    Ready,
    Dead,
    Cancelled,
}

impl Table {
    pub(crate) fn reclaim(&mut self, limit: usize, now: Timestamp) -> Reclaimed {
        let expired = self.leases.iter().filter(|(_, held)| held.expires_at <= now);
        let lost = expired.flat_map(|(token, held)| {
            let name = |id| (id, Some(held.handler_key.clone()));
            held.open.iter().map(move |id| (*token, name(*id)))
        });
        let lost: Vec<_> = lost.take(limit).collect();
        let mut reclaimed = Reclaimed::default();
        for (token, name) in lost {
            let blocks = self.leases.get(&token).is_none_or(|held| held.blocks);
            match self.lose(token, &name, now) {
                Lost::Ready => reclaimed.returned += 1,
                Lost::Dead => reclaimed.dead.push(self.dead_delivery(&name)),
                Lost::Cancelled => reclaimed.cancelled += 1,
            }
            self.hand_on(&name, blocks, now);
        }
        reclaimed
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

    /// Takes one delivery from its worker.
    fn lose(&mut self, token: LeaseToken, name: &Name, now: Timestamp) -> Lost {
        let ready = self.ready();
        let Some(held) = self.leases.get_mut(&token) else { return Lost::Ready };
        held.open.remove(&name.0);
        let (leased_at, max_attempts) = (held.leased_at, held.max_attempts);
        let cancelled = held.cancelled.contains(&name.0);
        if held.open.is_empty() {
            self.leases.remove(&token);
        }
        let Some(row) = self.deliveries.get_mut(name) else { return Lost::Ready };
        if cancelled {
            row.place = Place::cancelled(now);
            return Lost::Cancelled;
        }
        row.place = ready;
        if !row.suspect {
            // The worker may have held others too: no one is accused, nothing is counted.
            row.suspect = true;
            row.attempts -= 1;
            return Lost::Ready;
        }
        let error = ErrorReport::lease_expired();
        let dead = row.attempts >= max_attempts;
        if dead {
            let reason = DeadReason::LeaseExpired.as_str();
            row.place = Place::Dead { reason, error: error.text.clone(), at: now };
        }
        let failure = AttemptRecord {
            handler_key: name.1.clone().unwrap_or_default(),
            attempt: row.attempts,
            leased_at,
            settled_at: now,
            error_type: error.error_type,
            error: error.text,
        };
        self.attempts.entry(name.0).or_default().push(failure);
        if dead { Lost::Dead } else { Lost::Ready }
    }
}
