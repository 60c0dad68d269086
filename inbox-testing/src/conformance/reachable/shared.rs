//! What deliveries share: lanes and limits.

use std::collections::BTreeMap;

use inbox_core::message::MessageId;
use inbox_core::store::Wanted;

use super::model::{Keys, World};
use crate::conformance::kit::Held;

impl World {
    fn first_key<'w>(&'w self, handler_key: &'w str) -> &'w str {
        self.first_keys.get(handler_key).map_or(handler_key, String::as_str)
    }

    /// Everything that may still be settled, with the first key of its handler.
    fn held(&self) -> impl Iterator<Item = (&str, MessageId, &Keys)> {
        self.leases.values().flat_map(move |lease| {
            let first_key = self.first_key(&lease.handler_key);
            lease.open.iter().map(move |id| (first_key, *id, &self.keyed[id]))
        })
    }

    /// Of a lane, no two are held.
    pub(super) fn one_of_each_lane(&self) {
        let mut heads = BTreeMap::new();
        for (first_key, id, keys) in self.held() {
            let Some(ordering_key) = &keys.ordering else { continue };
            let lane = (first_key, &keys.tenant, ordering_key);
            let other = heads.insert(lane, id);
            assert!(other.is_none(), "of {lane:?} both {id} and {other:?} are held");
        }
    }

    /// What was leased under terms is, with all that is held, no more than these allow.
    pub(super) fn keeps_limits(&self, asked: &[Wanted], leased: &[Held]) {
        for held in leased {
            let key = &held.delivery.handler_key;
            let Some(wanted) = asked.iter().find(|one| one.handler_key == *key) else { continue };
            let of_handler = || self.held().filter(|one| one.0 == self.first_key(key));
            // Another wanted key of the same handler may have other limits, and was leased after it.
            let alone =
                asked.iter().filter(|one| self.first_key(&one.handler_key) == self.first_key(key));
            if alone.count() > 1 {
                continue;
            }
            if let Some(limit) = wanted.terms.fleet {
                let count = of_handler().count();
                assert!(count <= limit.get() as usize, "{count} of `{key}` are held, not {limit}");
            }
            let Keys { tenant, concurrency, .. } = &self.keyed[&held.id()];
            if let (Some(limit), Some(shared)) = (wanted.terms.per_key, concurrency) {
                let same =
                    |one: &Keys| one.tenant == *tenant && one.concurrency.as_ref() == Some(shared);
                let count = of_handler().filter(|one| same(one.2)).count();
                assert!(
                    count <= limit.get() as usize,
                    "{count} of `{shared}` are held, not {limit}"
                );
            }
        }
    }
}
