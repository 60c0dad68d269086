use std::collections::BTreeSet;
use std::time::Duration;

use inbox::Timestamp;
use inbox::settle::{DeadReason, ErrorReport};
use inbox::store::{DeadDelivery, HostRecord, OrphanTerms, RouteRecord, Served};

use crate::table::{Name, Place, Table};

impl Table {
    pub(crate) fn announce(&mut self, name: String, mut serves: Vec<Served>, now: Timestamp) {
        for served in &serves {
            self.orphans.remove(&served.handler_key);
        }
        serves.sort();
        let started_at = self.hosts.get(&name).map_or(now, |host| host.started_at);
        let host = HostRecord { name: name.clone(), started_at, seen_at: now, serves };
        self.hosts.insert(name, host);
    }

    fn live(&self, alive_for: Duration, now: Timestamp) -> impl Iterator<Item = &HostRecord> {
        self.hosts.values().filter(move |host| host.seen_at.saturating_add(alive_for) > now)
    }

    pub(crate) fn route_records(&self, alive_for: Duration, now: Timestamp) -> Vec<RouteRecord> {
        let serves =
            |host: &&HostRecord, key: &str| host.serves.iter().any(|s| s.handler_key == key);
        let record = |route: &inbox::store::KnownRoute| {
            let key = &route.handler_key;
            let mine = self.deliveries.iter().filter(|(name, _)| name.1.as_ref() == Some(key));
            let is_open = |place: &Place| !matches!(place, Place::Dead { .. } | Place::Done { .. });
            let hosts = self.live(alive_for, now).filter(|host| serves(host, key));
            RouteRecord {
                contract: route.contract.clone(),
                handler_key: key.clone(),
                superseded_by: route.superseded_by.clone(),
                retired: route.retired,
                open: mine.filter(|(_, row)| is_open(&row.place)).count() as u64,
                hosts: hosts.map(|host| host.name.clone()).collect(),
            }
        };
        self.routes.values().map(record).collect()
    }

    pub(crate) fn give_up_orphans(
        &mut self,
        OrphanTerms { grace, alive_for }: OrphanTerms,
        limit: usize,
        now: Timestamp,
    ) -> Vec<DeadDelivery> {
        if self.live(alive_for, now).next().is_none() {
            // Nobody would serve anything: that says nothing about these keys.
            return Vec::new();
        }
        let served = self.live(alive_for, now).flat_map(|host| &host.serves);
        let served: BTreeSet<_> = served.map(|served| served.handler_key.clone()).collect();
        let is_ready = |place: &Place| matches!(place, Place::Ready { .. });
        let ready = self.deliveries.iter().filter(|(_, row)| is_ready(&row.place));
        let keys: BTreeSet<_> = ready.filter_map(|(name, _)| name.1.clone()).collect();
        self.orphans.retain(|key, _| keys.contains(key) && !served.contains(key));
        for key in keys.difference(&served) {
            let (since, seen_at) = self.orphans.entry(key.clone()).or_insert((now, now));
            if seen_at.saturating_add(alive_for) < now {
                // Nobody looked in between: that does not count.
                *since = since.saturating_add(now.saturating_duration_since(*seen_at));
            }
            *seen_at = now.max(*seen_at);
        }
        let is_over = |key: &String| {
            self.orphans.get(key).is_some_and(|(since, _)| since.saturating_add(grace) <= now)
        };
        let over: BTreeSet<_> = keys.into_iter().filter(is_over).collect();
        let live: Vec<_> = served.into_iter().collect();
        let mut dead = Vec::new();
        loop {
            let ready = self.deliveries.iter().filter(|(_, row)| is_ready(&row.place));
            let of_them = |name: &Name| name.1.as_ref().is_some_and(|key| over.contains(key));
            let orphans = ready.map(|(name, _)| name.clone()).filter(of_them);
            let mut orphans: Vec<_> = orphans.collect();
            // What does not have its turn in its lane is none.
            self.keep_turns(&mut orphans);
            orphans.truncate(limit - dead.len());
            if orphans.is_empty() {
                break;
            }
            // Where they let their lanes pass, the next ones are orphans too.
            for name in &orphans {
                let key = name.1.as_deref().unwrap_or_default();
                let error = ErrorReport::orphaned(key, &live).text;
                let (reason, blocks) = (DeadReason::Orphaned.as_str(), !self.passing.contains(key));
                self.move_to(name, Place::Dead { reason, error, at: now, blocks });
                self.hand_on(name, now);
                dead.push(self.dead_delivery(name));
            }
        }
        dead
    }
}
