use inbox::Timestamp;
use inbox::settle::{DeadReason, ErrorReport};
use inbox::store::{AttemptRecord, LeaseToken, Reclaimed};

use crate::table::{Name, Place, Table};

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
            *self.lose(token, &name, now, &mut reclaimed) += 1;
            self.hand_on(&name, blocks, now);
        }
        reclaimed
    }

    /// Takes one delivery from its worker, and answers the count it belongs to.
    fn lose<'r>(
        &mut self,
        token: LeaseToken,
        name: &Name,
        now: Timestamp,
        reclaimed: &'r mut Reclaimed,
    ) -> &'r mut u64 {
        let ready = self.ready();
        let Some(held) = self.leases.get_mut(&token) else { return &mut reclaimed.returned };
        held.open.remove(&name.0);
        let (leased_at, max_attempts) = (held.leased_at, held.max_attempts);
        let cancelled = held.cancelled.contains(&name.0);
        if held.open.is_empty() {
            self.leases.remove(&token);
        }
        let Some(row) = self.deliveries.get_mut(name) else { return &mut reclaimed.returned };
        if cancelled {
            row.place = Place::cancelled(now);
            return &mut reclaimed.cancelled;
        }
        row.place = ready;
        if !row.suspect {
            // The worker may have held others too: no one is accused, nothing is counted.
            row.suspect = true;
            row.attempts -= 1;
            return &mut reclaimed.returned;
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
        if dead { &mut reclaimed.dead } else { &mut reclaimed.returned }
    }
}
