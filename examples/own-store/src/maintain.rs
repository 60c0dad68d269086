use inbox::Timestamp;
use inbox::store::Now;
use inbox::store::{KnownRoute, Maintain, Reclaimed, Route, StoreFuture};

use crate::MemoryStore;
use crate::table::{Name, Place, Row, Table};

impl Maintain for MemoryStore {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        let registered = self.verb(move |table| {
            if let Some(taken) = routes.iter().find_map(|route| table.taken(route)) {
                return Err(taken);
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

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        self.verb(move |table| table.reclaim(limit as usize, now.or_else(Timestamp::now)))
    }
}

impl Table {
    fn route(&mut self, limit: usize, now: Timestamp) -> u64 {
        let waits = |row: &Row| matches!(row.place, Place::Waiting { .. });
        let unrouted = self.deliveries.iter().filter(|(name, row)| name.1.is_none() && waits(row));
        let unrouted = unrouted.map(|(name, _)| name);
        let routed = unrouted.filter(|name| !self.routes_of(&self.contract_of(name)).is_empty());
        let names: Vec<_> = routed.take(limit).cloned().collect();
        for name in &names {
            let Some(row) = self.deliveries.remove(name) else { continue };
            let Place::Waiting { due_at, .. } = row.place else { continue };
            for key in self.routes_of(&self.contract_of(name)) {
                let place = self.ready_or_waiting(due_at, now);
                self.deliveries.insert((name.0, Some(key)), Row { place, ..row.clone() });
            }
        }
        names.len() as u64
    }

    fn promote(&mut self, limit: usize, now: Timestamp) -> u64 {
        let mut due: Vec<(Timestamp, Name)> = Vec::new();
        for (name, row) in &self.deliveries {
            let Place::Waiting { due_at: Some(due_at), .. } = row.place else { continue };
            // Without a route there is nowhere to be ready.
            if due_at <= now && name.1.is_some() {
                due.push((due_at, name.clone()));
            }
        }
        due.sort();
        due.truncate(limit);
        for (_, name) in &due {
            let place = self.ready();
            self.move_to(name, place);
        }
        due.len() as u64
    }
}
