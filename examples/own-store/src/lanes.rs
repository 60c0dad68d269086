use std::collections::BTreeMap;

use inbox::Timestamp;
use inbox::store::{Lane, LaneFilter, LaneRecord};

use crate::table::{Name, Place, Table};

/// The first key of a handler, a tenant and an ordering key.
pub(crate) type LaneName = (String, String, String);

/// The delivery whose turn it is.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) name: Name,
    since: Timestamp,
}

impl Table {
    /// The key that a handler had first: a rename neither breaks an order nor doubles a limit.
    pub(crate) fn first_key(&self, handler_key: &str) -> String {
        self.first_keys.get(handler_key).map_or(handler_key, String::as_str).to_owned()
    }

    /// The lane of a delivery whose message has an ordering key.
    fn lane_of(&self, name: &Name) -> Option<LaneName> {
        let message = &self.messages.get(&name.0)?.message;
        let ordering_key = message.ordering_key.clone()?;
        Some((self.first_key(name.1.as_ref()?), message.tenant.clone(), ordering_key))
    }

    /// What is ready in each lane, the one that has been so for longest first.
    fn in_lanes(&self) -> BTreeMap<LaneName, BTreeMap<u64, Name>> {
        let mut lanes = BTreeMap::<_, BTreeMap<_, _>>::new();
        for (name, row) in &self.deliveries {
            let Place::Ready { seq } = row.place else { continue };
            let Some(lane) = self.lane_of(name) else { continue };
            lanes.entry(lane).or_default().insert(seq, name.clone());
        }
        lanes
    }

    /// Takes out what is not at the head of its lane, nor the first of one that has no head.
    pub(crate) fn keep_turns(&self, ready: &mut Vec<Name>) {
        let lanes = self.in_lanes();
        ready.retain(|name| {
            let Some(lane) = self.lane_of(name) else { return true };
            let first = || lanes.get(&lane)?.values().next();
            self.lanes.get(&lane).map(|head| &head.name).or_else(first) == Some(name)
        });
    }

    /// What is leased is the head of its lane from now on, if it is not so already.
    pub(crate) fn enter_lane(&mut self, name: &Name, since: Timestamp) {
        if let Some(lane) = self.lane_of(name) {
            self.lanes.entry(lane).or_insert_with(|| Head { name: name.clone(), since });
        }
    }

    /// Hands the lane of a delivery on to the next one, if it is the head and has come to its end: it is
    /// done, or it is dead and does not block.
    pub(crate) fn hand_on(&mut self, name: &Name, blocks: bool, since: Timestamp) {
        match self.deliveries.get(name).map(|row| &row.place) {
            Some(Place::Done { .. }) => {}
            Some(Place::Dead { .. }) if !blocks => {}
            _ => return,
        }
        let Some(lane) = self.lane_of(name) else { return };
        if self.lanes.get(&lane).is_none_or(|head| head.name != *name) {
            return;
        }
        self.lanes.remove(&lane);
        let next = self.in_lanes().remove(&lane).and_then(|mut ready| ready.pop_first());
        if let Some((_, name)) = next {
            self.lanes.insert(lane, Head { name, since });
            self.bell.ring();
        }
    }

    /// Hands on a lane whose head is dead.
    pub(crate) fn let_pass(&mut self, lane: &Lane, now: Timestamp) -> bool {
        let first_key = self.first_key(&lane.handler_key);
        let lane = (first_key, lane.tenant.clone(), lane.ordering_key.clone());
        let Some(head) = self.lanes.get(&lane).map(|head| head.name.clone()) else { return false };
        let is_dead = matches!(self.deliveries[&head].place, Place::Dead { .. });
        self.hand_on(&head, !is_dead, now);
        is_dead
    }

    pub(crate) fn list_lanes(&self, filter: &LaneFilter) -> Vec<LaneRecord> {
        let first_key = filter.handler_key.as_ref().map(|key| self.first_key(key));
        let ready = self.in_lanes();
        let mut records = Vec::new();
        for (lane, head) in &self.lanes {
            let record = LaneRecord {
                lane: Lane {
                    handler_key: head.name.1.clone().unwrap_or_default(),
                    tenant: lane.1.clone(),
                    ordering_key: lane.2.clone(),
                },
                head: head.name.0,
                state: self.record(&head.name, &self.deliveries[&head.name]).state,
                since: head.since,
                behind: ready.get(lane).map_or(0, |ready| {
                    ready.values().filter(|name| **name != head.name).count() as u64
                }),
            };
            let is_blocked = matches!(self.deliveries[&head.name].place, Place::Dead { .. });
            if first_key.as_ref().is_none_or(|key| *key == lane.0)
                && (is_blocked || !filter.blocked)
            {
                records.push(record);
            }
        }
        records.sort_by_key(|record| record.since);
        records.truncate(filter.page_size() as usize);
        records
    }
}
