//! What deliveries share: lanes and limits.

use std::collections::{BTreeMap, BTreeSet};

use inbox_core::message::MessageId;
use inbox_core::store::{LeaseToken, Wanted};

use super::model::{Keys, World};
use crate::conformance::kit::Held;

/// The first key of a handler, a tenant and an ordering key.
pub(super) type LaneOf<'w> = (&'w str, &'w str, &'w str);

impl World {
    fn first_key<'w>(&'w self, handler_key: &'w str) -> &'w str {
        self.first_keys.get(handler_key).map_or(handler_key, String::as_str)
    }

    /// The lane of a delivery, if its message has an ordering key.
    pub(super) fn lane_of<'w>(&'w self, id: MessageId, handler_key: &'w str) -> Option<LaneOf<'w>> {
        let keys = &self.keyed[&id];
        Some((self.first_key(handler_key), &keys.tenant, keys.ordering.as_deref()?))
    }

    /// Everything that may still be settled, each with the lease that holds it.
    fn held(&self) -> impl Iterator<Item = (LeaseToken, MessageId, &str)> {
        self.leases.iter().flat_map(|(token, lease)| {
            lease.open.iter().map(|(id, key)| (*token, *id, key.as_str()))
        })
    }

    /// Of a lane, no two leases hold any.
    pub(super) fn one_lease_of_each_lane(&self) {
        let mut holders = BTreeMap::new();
        for (token, id, key) in self.held() {
            let Some(lane) = self.lane_of(id, key) else { continue };
            let holder = *holders.entry(lane).or_insert(token);
            assert_eq!(holder, token, "two leases hold deliveries of {lane:?}");
        }
    }

    /// How many deliveries that count for a limit are held: of a run one, and of the others of a lease no more than
    /// it has permits, where they share these.
    fn used(&self, first_key: &str, counts: impl Fn(&Keys) -> bool, are_shared: bool) -> usize {
        let (mut runs, mut others) = (BTreeSet::new(), BTreeMap::new());
        for (token, id, key) in self.held() {
            if self.first_key(key) != first_key || !counts(&self.keyed[&id]) {
                continue;
            }
            match self.lane_of(id, key) {
                Some(lane) => _ = runs.insert(lane),
                None => *others.entry(token).or_default() += 1,
            }
        }
        let permits = |token: &LeaseToken| self.leases[token].permits;
        let share = |(token, held): (LeaseToken, usize)| match are_shared {
            true => held.min(permits(&token)),
            false => held,
        };
        runs.len() + others.into_iter().map(share).sum::<usize>()
    }

    /// What was leased under terms is, with all that is held, no more than these allow.
    pub(super) fn keeps_limits(&self, asked: &[Wanted], leased: &[Held]) {
        for held in leased {
            let key = &held.claimed_for;
            let Some(wanted) = asked.iter().find(|one| one.handler_key == *key) else { continue };
            let first_key = self.first_key(key);
            // Another wanted key of the same handler may have other limits, and was leased after it.
            let alone = asked.iter().filter(|one| self.first_key(&one.handler_key) == first_key);
            if alone.count() > 1 {
                continue;
            }
            if let Some(limit) = wanted.terms.fleet {
                let count = self.used(first_key, |_| true, true);
                assert!(count <= limit.get() as usize, "{count} of `{key}` are held, not {limit}");
            }
            let Keys { tenant, concurrency, .. } = &self.keyed[&held.id()];
            if let (Some(limit), Some(shared)) = (wanted.terms.per_key, concurrency) {
                let is_it =
                    |one: &Keys| one.tenant == *tenant && one.concurrency.as_ref() == Some(shared);
                let count = self.used(first_key, is_it, false);
                assert!(
                    count <= limit.get() as usize,
                    "{count} of `{shared}` are held, not {limit}"
                );
            }
        }
    }
}
