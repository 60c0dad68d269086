//! The order of lanes, by the position that each delivery is given once.

use std::collections::BTreeMap;

use inbox_core::store::{DeliveryRecord, DeliveryState};

use super::model::{Name, World};
use crate::conformance::kit::Held;

impl World {
    /// Positions are those of acceptance; of what is delayed, those of the moment when it was due first.
    pub(super) fn note_positions(&mut self, seen: &BTreeMap<Name, DeliveryRecord>) {
        let mut due = Vec::new();
        for (name, record) in seen.iter().filter(|(name, _)| name.1.is_some()) {
            if is_delayed(record) {
                self.positions.remove(name);
            } else if !self.positions.contains_key(name) {
                match self.seen.get(name).filter(|before| is_delayed(before)) {
                    Some(before) => due.push((before.due_at, name)),
                    None => {
                        self.positions.insert(name.clone(), self.accepted[&name.0]);
                    }
                }
            }
        }
        due.sort();
        for (_, name) in due {
            self.last_position += 1;
            self.positions.insert(name.clone(), self.last_position);
        }
    }

    /// Of each lane, what was leased comes in its order, and nothing older is left out that has not come to its
    /// end.
    pub(super) fn in_order(&self, leased: &[Held]) {
        let mut last = BTreeMap::new();
        for held in leased {
            let name = (held.id(), Some(held.delivery.handler_key.clone()));
            let Some(lane) = self.lane_of(name.0, &held.delivery.handler_key) else { continue };
            let position = self.positions[&name];
            let before = last.insert(lane, position);
            assert!(before <= Some(position), "a run is out of order: {before:?}, {position}");
            for (other, at) in &self.positions {
                let is_older = *at < position && other.0 != name.0;
                let of_lane = other.1.as_ref().and_then(|key| self.lane_of(other.0, key));
                if !is_older || of_lane != Some(lane) {
                    continue;
                }
                let goes_along = leased.iter().any(|one| {
                    one.token == held.token
                        && (one.id(), Some(&one.delivery.handler_key))
                            == (other.0, other.1.as_ref())
                });
                let record = &self.seen[other];
                let is_over = goes_along || record.state.is_terminal();
                assert!(is_over, "{name:?} was leased before {record:?}");
            }
        }
    }
}

fn is_delayed(record: &DeliveryRecord) -> bool {
    record.state == DeliveryState::Waiting && record.reason.as_deref() == Some("delay")
}
