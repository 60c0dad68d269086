use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use inbox::Timestamp;
use inbox::dispatch::Delivery;
use inbox::store::Now;
use inbox::store::{
    AfterDead, Bell, Lease, LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Renewed, StoreFuture,
    Wanted,
};

use crate::MemoryStore;
use crate::table::{Held, Name, Place, Table};

impl LeaseStore for MemoryStore {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        self.verb(move |table| {
            let now = now.or_else(Timestamp::now);
            let suspect = table.oldest_suspect(&request);
            let claim = |wanted| table.claim(&request, wanted, suspect.as_ref(), now);
            request.wanted.iter().flat_map(claim).collect()
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
                let held = table.held(token, now).ok_or(LeaseLost(token))?;
                held.expires_at = now.saturating_add(duration);
                let cancelled = held.cancelled.intersection(&held.open).copied().collect();
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
    fn claim(
        &mut self,
        request: &LeaseRequest,
        wanted: &Wanted,
        suspect: Option<&Name>,
        now: Timestamp,
    ) -> Vec<Lease> {
        let ready = self.ready_for(request, wanted).into_iter();
        let mut leases = Vec::new();
        let mut left = wanted.limit.get() as usize;
        let is_suspect = |name: &Name| Some(name) == suspect && self.has_room(wanted, name, &[]);
        if let Some(name) = ready.clone().find(is_suspect) {
            leases.push(self.hold(&[name], request, wanted, now));
            left -= 1;
        }
        let mut batch = Vec::new();
        for name in ready.filter(|name| !self.deliveries[name].suspect) {
            if batch.len() < left && self.has_room(wanted, &name, &batch) {
                batch.push(name);
            }
        }
        let size = if wanted.terms.apart { 1 } else { batch.len().max(1) };
        let together = batch.chunks(size);
        leases.extend(together.map(|names| self.hold(names, request, wanted, now)));
        leases
    }

    /// The suspect that has been ready for longest, if the host holds none.
    fn oldest_suspect(&self, request: &LeaseRequest) -> Option<Name> {
        if self.holds_suspect(&request.host) {
            return None;
        }
        let suspects = request.wanted.iter().flat_map(|wanted| {
            let ready = self.ready_for(request, wanted).into_iter();
            let suspects = ready.filter(|name| self.deliveries[name].suspect);
            suspects.filter(|name| self.has_room(wanted, name, &[]))
        });
        suspects.min_by_key(|name| match self.deliveries[name].place {
            Place::Ready { seq } => seq,
            _ => u64::MAX,
        })
    }

    /// What may be leased, the most urgent and then the oldest first.
    fn ready_for(&self, request: &LeaseRequest, wanted: &Wanted) -> Vec<Name> {
        let mut found = Vec::new();
        for (name, row) in &self.deliveries {
            let Place::Ready { seq } = row.place else { continue };
            let message = &self.messages[&name.0].message;
            if name.1.as_ref() == Some(&wanted.handler_key)
                && wanted.versions.contains(&message.version)
                && request.serves(&message.tenant)
            {
                found.push((Reverse(row.priority), seq, name.clone()));
            }
        }
        found.sort();
        let mut found = found.into_iter().map(|(_, _, name)| name).collect();
        self.keep_turns(&mut found);
        found
    }

    fn holds_suspect(&self, host: &str) -> bool {
        self.deliveries.values().any(|row| match row.place {
            Place::Lease(token) => row.suspect && self.leases[&token].host == host,
            _ => false,
        })
    }

    /// Leases these together, all of one handler key.
    fn hold(
        &mut self,
        names: &[Name],
        request: &LeaseRequest,
        wanted: &Wanted,
        now: Timestamp,
    ) -> Lease {
        let (token, handler_key) = (LeaseToken::new(), wanted.handler_key.clone());
        let expires_at = now.saturating_add(request.duration);
        let held = Held {
            host: request.host.clone(),
            handler_key: handler_key.clone(),
            leased_at: now,
            expires_at,
            max_attempts: wanted.max_attempts.get(),
            blocks: wanted.terms.after_dead == AfterDead::Block,
            open: names.iter().map(|(id, _)| *id).collect(),
            cancelled: BTreeSet::new(),
        };
        self.leases.insert(token, held);
        for name in names {
            self.enter_lane(name, now);
        }
        let deliveries = names.iter().filter_map(|name| self.attempt(name, token)).collect();
        // Memory does not rot: no row is unreadable here.
        let (leased_at, unreadable) = (now, Vec::new());
        let suspect = names.iter().any(|name| self.deliveries[name].suspect);
        Lease { token, handler_key, suspect, leased_at, expires_at, deliveries, unreadable }
    }

    fn attempt(&mut self, name: &Name, token: LeaseToken) -> Option<Delivery> {
        let stored = self.messages.get(&name.0)?;
        let row = self.deliveries.get_mut(name)?;
        row.attempts += 1;
        row.place = Place::Lease(token);
        Some(Delivery {
            message: stored.message.clone(),
            accepted_at: stored.accepted_at,
            handler_key: name.1.clone()?,
            attempt: row.attempts,
            delayed_retries: row.delayed_retries,
        })
    }
}
