use std::collections::BTreeSet;
use std::time::Duration;

use inbox::Timestamp;
use inbox::dispatch::{Delivery, Shares};
use inbox::message::MessageId;
use inbox::store::Now;
use inbox::store::{
    Bell, Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, OnDead, Renewed, StoreFuture,
    Wanted,
};

use crate::MemoryStore;
use crate::table::{Held, Name, Place, Table};

impl LeaseStore for MemoryStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        self.verb(move |table| {
            let now = now.or_else(Timestamp::now);
            let mut leases = Vec::from_iter(table.claim_quarantined(&request, now));
            for wanted in &request.wanted {
                leases.extend(table.claim(&request, wanted, now));
            }
            leases
        })
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        self.verb(move |table| {
            let now = now.or_else(Timestamp::now);
            let renew = |token| {
                // Expired or not: while nobody has reclaimed any of it, it is the worker's.
                let held = table.leases.get_mut(&token).filter(|held| !held.reclaimed);
                let held = held.ok_or(LeaseLost(token))?;
                held.expires_at = now.saturating_add(duration);
                let is_open = |id: &&MessageId| held.open.contains_key(*id);
                let cancelled = held.cancelled.iter().filter(is_open).copied().collect();
                Ok(Renewed { expires_at: held.expires_at, cancelled })
            };
            tokens.into_iter().map(renew).collect()
        })
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }
}

impl Table {
    fn claim(&mut self, request: &LeaseRequest, wanted: &Wanted, now: Timestamp) -> Option<Lease> {
        let batch = self.with_runs(request, wanted, self.ready_for(request, wanted, false));
        self.hold(&batch, request, wanted, now)
    }

    /// A group of quarantined deliveries of one key, beginning with the one that has been ready for longest
    /// of all keys; that one alone, if three workers vanished with it.
    fn claim_quarantined(&mut self, request: &LeaseRequest, now: Timestamp) -> Option<Lease> {
        let most = request.quarantine?.get() as usize;
        let oldest = request.wanted.iter().filter_map(|wanted| {
            let mut ready = self.ready_for(request, wanted, true).into_iter();
            let first = ready.find(|name| self.has_room(wanted, name, &[]))?;
            Some((self.seq(&first), wanted, first))
        });
        let (_, wanted, first) = oldest.min_by_key(|(seq, _, _)| *seq)?;
        let crashes = |name: &Name| self.deliveries[name].crashes;
        let mut group = vec![first];
        for name in self.ready_for(request, wanted, true) {
            let goes_along = crashes(&group[0]) == 2 && crashes(&name) == 2 && name != group[0];
            if goes_along && group.len() < most && self.has_room(wanted, &name, &group) {
                group.push(name);
            }
        }
        self.hold(&group, request, wanted, now)
    }

    /// What may be leased, quarantined or not: in the order of the priorities and then the oldest first. Of
    /// quarantined deliveries, the oldest is first.
    fn ready_for(&self, request: &LeaseRequest, wanted: &Wanted, quarantined: bool) -> Vec<Name> {
        let order = request.priorities();
        let mut found = Vec::new();
        for (name, row) in &self.deliveries {
            let Place::Ready { seq } = row.place else { continue };
            let message = &self.messages[&name.0].message;
            if name.1.as_ref() == Some(&wanted.handler_key)
                && wanted.versions.contains(&message.version)
                && request.serves(&message.tenant)
                && row.is_quarantined() == quarantined
            {
                let turn = order.iter().position(|priority| *priority == row.priority);
                found.push((turn.filter(|_| !quarantined), seq, name.clone()));
            }
        }
        found.sort();
        let mut found = found.into_iter().map(|(_, _, name)| name).collect();
        self.keep_turns(&mut found);
        found
    }

    fn seq(&self, name: &Name) -> Option<u64> {
        match self.deliveries[name].place {
            Place::Ready { seq } => Some(seq),
            _ => None,
        }
    }

    /// Leases these together, all of one handler; nothing, if there are none.
    fn hold(
        &mut self,
        names: &[Name],
        request: &LeaseRequest,
        wanted: &Wanted,
        now: Timestamp,
    ) -> Option<Lease> {
        let quarantined = self.deliveries[names.first()?].is_quarantined();
        let (token, handler_key) = (LeaseToken::new(), wanted.handler_key.clone());
        let expires_at = now.saturating_add(request.duration);
        let held = Held {
            host: request.host.clone(),
            leased_at: now,
            expires_at,
            reclaimed: false,
            max_crashes: wanted.max_crashes.get(),
            alone: quarantined && names.len() == 1,
            blocks: wanted.terms.on_dead == OnDead::Block,
            open: names.iter().filter_map(|(id, key)| Some((*id, key.clone()?))).collect(),
            cancelled: BTreeSet::new(),
        };
        self.leases.insert(token, held);
        let deliveries = names.iter().filter_map(|name| self.attempt(name, wanted, token));
        let deliveries = deliveries.collect();
        for name in names {
            self.hand_on(name, now);
        }
        // Memory does not rot: no row is unreadable here.
        let (leased_at, unreadable) = (now, Vec::new());
        Some(Lease {
            token,
            handler_key,
            quarantined,
            leased_at,
            expires_at,
            permits: None,
            deliveries,
            unreadable,
        })
    }

    fn attempt(&mut self, name: &Name, wanted: &Wanted, token: LeaseToken) -> Option<Delivery> {
        let stored = self.messages.get(&name.0)?;
        let row = self.deliveries.get_mut(name)?;
        row.attempts += 1;
        row.place = Place::Lease(token);
        let is_limited = wanted.terms.fleet.is_some() || wanted.terms.per_key.is_some();
        Some(Delivery {
            shares: Shares { lane: stored.message.ordering_key.is_some(), limit: is_limited },
            message: stored.message.clone(),
            accepted_at: stored.accepted_at,
            handler_key: name.1.clone()?,
            attempt: row.attempts,
            crashes: row.crashes,
            carry: row.carry.clone(),
        })
    }
}
