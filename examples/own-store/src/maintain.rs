use std::time::Duration;

use inbox::Timestamp;
use inbox::store::Now;
use inbox::store::{
    DeadDelivery, KnownRoute, Maintain, OrphanTerms, Reclaimed, Route, Served, StoreFuture,
};

use crate::MemoryStore;
use crate::table::{Name, Place, Table};

impl Maintain for MemoryStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let registered = self.verb(move |table| {
            let taken = || routes.iter().find_map(|route| table.taken(route));
            if let Some(refusal) = table.foreign(&routes).or_else(taken) {
                return Err(refusal);
            }
            for route in &routes {
                table.register(route);
            }
            // Only now, so that the order of the routes does not matter.
            table.route(usize::MAX, now.or_else(Timestamp::now));
            Ok(table.known(&routes))
        });
        Box::pin(async move { registered.await? })
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.verb(move |table| table.route(limit as usize, now.or_else(Timestamp::now)))
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.verb(move |table| table.promote(limit as usize, now.or_else(Timestamp::now)))
    }

    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>> {
        self.verb(move |table| {
            let first = table.moments().map(|(due_at, _)| due_at).min()?;
            Some(first.saturating_duration_since(now.or_else(Timestamp::now)))
        })
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        self.verb(move |table| table.reclaim(limit as usize, now.or_else(Timestamp::now)))
    }

    fn announce(&self, host: &str, serves: Vec<Served>, now: Now) -> StoreFuture<'_, ()> {
        let host = host.to_owned();
        self.verb(move |table| table.announce(host, serves, now.or_else(Timestamp::now)))
    }

    fn leave(&self, host: &str) -> StoreFuture<'_, ()> {
        let host = host.to_owned();
        self.verb(move |table| drop(table.hosts.remove(&host)))
    }

    fn give_up_orphans(
        &self,
        terms: OrphanTerms,
        limit: u32,
        now: Now,
    ) -> StoreFuture<'_, Vec<DeadDelivery>> {
        self.verb(move |table| {
            table.give_up_orphans(terms, limit as usize, now.or_else(Timestamp::now))
        })
    }

    fn mend(&self, _limit: u32, _now: Now) -> StoreFuture<'_, u64> {
        // No verb can be cut off halfway, and nobody else gets at memory: there is nothing to mend.
        Box::pin(async { Ok(0) })
    }
}

impl Table {
    pub(crate) fn route(&mut self, limit: usize, now: Timestamp) -> u64 {
        let has_route = |name: &Name| !self.routes_of(&self.contract_of(name)).is_empty();
        let unrouted = self.deliveries.iter().filter_map(|(name, row)| match row.place {
            Place::Unrouted { due_at } if has_route(name) => {
                Some((row.position, due_at, name.clone()))
            }
            _ => None,
        });
        // In the order of acceptance.
        let mut unrouted: Vec<_> = unrouted.collect();
        unrouted.sort();
        unrouted.truncate(limit);
        for (_, due_at, name) in &unrouted {
            let Some(row) = self.deliveries.remove(name) else { continue };
            for key in self.routes_of(&self.contract_of(name)) {
                let due_at = due_at.filter(|due_at| *due_at > now);
                self.deliver_to((name.0, Some(key)), row.clone(), due_at);
            }
        }
        unrouted.len() as u64
    }

    fn promote(&mut self, limit: usize, now: Timestamp) -> u64 {
        let due = self.moments().filter(|(due_at, _)| *due_at <= now);
        let mut due: Vec<_> = due.map(|(due_at, name)| (due_at, name.clone())).collect();
        due.sort();
        due.truncate(limit);
        for (_, name) in &due {
            self.make_ready(name, now);
        }
        due.len() as u64
    }

    /// What waits for a moment. Without a route there is nowhere to be ready.
    fn moments(&self) -> impl Iterator<Item = (Timestamp, &Name)> {
        let routed = self.deliveries.iter().filter(|(name, _)| name.1.is_some());
        routed.filter_map(|(name, row)| match row.place {
            Place::Waiting { due_at: Some(due_at), .. } => Some((due_at, name)),
            _ => None,
        })
    }
}
