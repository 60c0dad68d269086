use std::collections::{BTreeMap, BTreeSet};

use inbox::Timestamp;
use inbox::store::{Lane, LaneFilter, LaneRecord};

use crate::table::{Name, Place, Table};

/// The first key of a handler, a tenant and an ordering key.
pub(crate) type LaneName = (String, String, String);

/// The delivery whose turn it is.
#[derive(Debug)]
pub(crate) struct Head {
    name: Name,
    since: Timestamp,
}

/// A delivery of a lane: those that are held come first, and then all others by their positions.
type Turn = (bool, Option<u64>, Name);

impl Table {
    /// The key that a handler had first: a rename neither breaks an order nor doubles a limit.
    pub(crate) fn first_key(&self, handler_key: &str) -> String {
        self.first_keys.get(handler_key).map_or(handler_key, String::as_str).to_owned()
    }

    /// The lane of a delivery whose message has an ordering key.
    pub(crate) fn lane_of(&self, name: &Name) -> Option<LaneName> {
        let message = &self.messages.get(&name.0)?.message;
        let ordering_key = message.ordering_key.clone()?;
        Some((self.first_key(name.1.as_ref()?), message.tenant.clone(), ordering_key))
    }

    /// What stands in each lane, in the order of the lane: this is the rule of the order. What is delayed is not in it
    /// yet, and what has come to its end is not in it any more.
    pub(crate) fn in_lanes(&self) -> BTreeMap<LaneName, BTreeSet<Turn>> {
        let mut lanes = BTreeMap::<_, BTreeSet<_>>::new();
        for (name, row) in &self.deliveries {
            let is_in_it = match &row.place {
                Place::Ready { .. } | Place::Lease(_) => true,
                Place::Waiting { reason, .. } => *reason == "retry",
                Place::Dead { blocks, .. } => *blocks,
                Place::Unrouted { .. } | Place::Done { .. } => false,
            };
            if !is_in_it {
                continue;
            }
            if let Some(lane) = self.lane_of(name) {
                let is_held = matches!(row.place, Place::Lease(_));
                lanes.entry(lane).or_default().insert((!is_held, row.position, name.clone()));
            }
        }
        lanes
    }

    /// Takes out what has an ordering key and does not have its turn.
    pub(crate) fn keep_turns(&self, ready: &mut Vec<Name>) {
        let lanes = self.in_lanes();
        ready.retain(|name| {
            let Some(lane) = self.lane_of(name) else { return true };
            lanes.get(&lane).and_then(BTreeSet::first).is_some_and(|(_, _, first)| first == name)
        });
    }

    /// Notes whose turn it is in the lane of a delivery that was moved.
    pub(crate) fn hand_on(&mut self, name: &Name, since: Timestamp) {
        let Some(lane) = self.lane_of(name) else { return };
        let Some((_, _, name)) = self.in_lanes().remove(&lane).and_then(|mut all| all.pop_first())
        else {
            self.lanes.remove(&lane);
            return;
        };
        let is_ready = matches!(self.deliveries[&name].place, Place::Ready { .. });
        if is_ready {
            self.bell.ring();
        }
        match self.lanes.get_mut(&lane) {
            Some(head) if head.name == name => {}
            Some(head) => *head = Head { name, since },
            // A lane that nobody has begun is not in use.
            None if is_ready => {}
            None => _ = self.lanes.insert(lane, Head { name, since }),
        }
    }

    /// Hands on a lane whose head is dead.
    pub(crate) fn unblock(&mut self, lane: &Lane, now: Timestamp) -> bool {
        let first_key = self.first_key(&lane.handler_key);
        let lane = (first_key, lane.tenant.clone(), lane.ordering_key.clone());
        let Some(head) = self.lanes.get(&lane).map(|head| head.name.clone()) else { return false };
        let place = self.deliveries.get_mut(&head).map(|row| &mut row.place);
        let Some(Place::Dead { blocks, .. }) = place else { return false };
        *blocks = false;
        self.hand_on(&head, now);
        true
    }

    pub(crate) fn list_lanes(&self, filter: &LaneFilter) -> Vec<LaneRecord> {
        let first_key = filter.handler_key.as_ref().map(|key| self.first_key(key));
        let all = self.in_lanes();
        let mut records = Vec::new();
        for (lane, head) in &self.lanes {
            let place = |name: &Name| &self.deliveries[name].place;
            let is_behind = |(_, _, name): &&Turn| {
                let goes_on = matches!(place(name), Place::Ready { .. } | Place::Lease(_));
                goes_on && *name != head.name
            };
            let record = LaneRecord {
                lane: Lane {
                    handler_key: head.name.1.clone().unwrap_or_default(),
                    tenant: lane.1.clone(),
                    ordering_key: lane.2.clone(),
                },
                head: head.name.0,
                state: self.record(&head.name, &self.deliveries[&head.name]).state,
                since: head.since,
                behind: all.get(lane).map_or(0, |all| all.iter().filter(is_behind).count() as u64),
            };
            let is_blocked = matches!(place(&head.name), Place::Dead { .. });
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
