use std::cmp::Reverse;

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
        let mut lost = Vec::new();
        for (token, held) in self.leases.iter().filter(|(_, held)| held.expires_at <= now) {
            let mut open: Vec<Name> =
                held.open.iter().map(|(id, key)| (*id, Some(key.clone()))).collect();
            // Of a run the last ones first: its worker may still settle the others, and passes none then.
            open.sort_by_key(|name| Reverse(self.deliveries[name].position));
            lost.extend(open.into_iter().map(|name| (*token, name)));
        }
        lost.truncate(limit);
        let moved = lost.iter().filter_map(|(token, name)| self.lose(*token, name, now));
        Reclaimed { deliveries: moved.collect() }
    }

    /// Whether it is the only one of its run that a lease holds still, and whether it is accused.
    ///
    /// Of a run in which one had a crash before, a worker begins each when the one before is settled: so the first
    /// that is held had begun. Of another run, nobody knows how many had.
    fn is_first(&self, name: &Name, held: &Held) -> (bool, bool) {
        let Some(lane) = self.lane_of(name) else { return (true, true) };
        let open = held.open.iter().map(|(id, key)| (*id, Some(key.clone())));
        let run: Vec<_> = open.filter(|one| self.lane_of(one).as_ref() == Some(&lane)).collect();
        let was_careful = run.iter().any(|one| self.deliveries[one].crashes > 0);
        (run.len() == 1, run.len() == 1 || !was_careful)
    }

    /// Takes one delivery from a worker that vanished. Its attempt is not counted.
    fn lose(
        &mut self,
        token: LeaseToken,
        name: &Name,
        now: Timestamp,
    ) -> Option<ReclaimedDelivery> {
        let ready = self.ready();
        let (is_first, is_accused) = self.is_first(name, self.leases.get(&token)?);
        let held = self.leases.get_mut(&token)?;
        held.open.remove(&name.0);
        held.reclaimed = true;
        let row = self.deliveries.get_mut(name)?;
        row.crashes += u32::from(is_accused);
        let (crashes, attempt) = (row.crashes, row.attempts);
        row.attempts -= 1;
        let error = ErrorReport::lease_expired();
        let dead = || Place::Dead {
            reason: DeadReason::LeaseExpired.as_str(),
            error: error.text.clone(),
            at: now,
            blocks: held.blocks,
        };
        let (place, state) = match held.cancelled.contains(&name.0) {
            true => (Place::cancelled(now), DeliveryState::Cancelled),
            false if held.gives_up(crashes) => (dead(), DeliveryState::Dead),
            false => (ready, DeliveryState::Pending),
        };
        row.place = place;
        let (host, handler_key) = (held.host.clone(), name.1.clone()?);
        let record = AttemptRecord {
            handler_key: handler_key.clone(),
            attempt,
            host: Some(host.clone()),
            leased_at: held.leased_at,
            settled_at: now,
            error_type: error.error_type,
            error: error.text,
        };
        if held.open.is_empty() {
            self.leases.remove(&token);
        }
        self.attempts.entry(name.0).or_default().extend(is_first.then_some(record));
        self.hand_on(name, now);
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
