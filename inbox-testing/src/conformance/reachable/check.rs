use std::collections::BTreeMap;

use inbox_core::store::{DeliveryFilter, DeliveryRecord, DeliveryState};

use super::model::World;

impl World {
    /// Every delivery is in one place, and someone can reach it there.
    pub(super) async fn check(&mut self) {
        let filter =
            DeliveryFilter { after: self.after.clone(), limit: Some(1_000), ..Default::default() };
        let listed = self.hosts[0].list(filter).await;
        let count = listed.len();
        let name = |record: &DeliveryRecord| (record.message_id, record.handler_key.clone());
        let seen: BTreeMap<_, _> = listed.into_iter().map(|r| (name(&r), r)).collect();
        assert_eq!(seen.len(), count, "a delivery is in two places");
        let lost: Vec<_> = self.deliveries.iter().filter(|d| !seen.contains_key(*d)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
        let extra: Vec<_> = seen.keys().filter(|d| !self.deliveries.contains(*d)).collect();
        assert!(extra.is_empty(), "nobody accepted these: {extra:?}");
        for (name, record) in &seen {
            assert!(reachable(record), "nobody can reach {record:?}");
            let goes_on = [DeliveryState::Pending, DeliveryState::Waiting, DeliveryState::Dead];
            let stopped = self.stopped.contains(name);
            assert!(!(stopped && goes_on.contains(&record.state)), "cancelled, and now {record:?}");
            let before = self.seen.get(name).filter(|before| before.state.is_terminal());
            assert!(before.is_none_or(|before| before == record), "{before:?} is now {record:?}");
        }
        self.held_as_leased(&seen);
        self.one_lease_of_each_lane();
        self.note_positions(&seen);
        self.seen = seen;
    }

    /// What a worker may still settle is its own.
    fn held_as_leased(&self, seen: &BTreeMap<super::model::Name, DeliveryRecord>) {
        for lease in self.leases.values() {
            for (id, key) in &lease.open {
                let record = &seen[&(*id, Some(key.clone()))];
                let found = (record.state, record.lease_expires_at);
                assert_eq!(
                    found,
                    (DeliveryState::Processing, Some(lease.expires_at)),
                    "{record:?}"
                );
            }
        }
    }
}

fn reachable(record: &DeliveryRecord) -> bool {
    match record.state {
        DeliveryState::Pending => record.handler_key.is_some(),
        DeliveryState::Processing => record.lease_expires_at.is_some(),
        // By promote, or by whoever registers a route.
        DeliveryState::Waiting if record.due_at.is_some() => true,
        // By whoever ends what it waits behind.
        DeliveryState::Waiting => {
            record.handler_key.is_none()
                || matches!(record.reason.as_deref(), Some("lane" | "limit"))
        }
        _ => record.settled_at.is_some(),
    }
}
