use std::collections::BTreeSet;

use inbox::store::Wanted;

use crate::table::{Name, Table};

impl Table {
    /// Whether the limits of the fleet let a worker hold this one too, beside what is held and what it has
    /// chosen already. What has expired is held until it is reclaimed.
    pub(crate) fn has_room(&self, wanted: &Wanted, name: &Name, chosen: &[Name]) -> bool {
        let first_key = self.first_key(&wanted.handler_key);
        let key = self.concurrency_key(name);
        let held = || {
            let leased = self.leases.values().flat_map(|held| &held.open);
            let leased = leased.map(|(id, key)| (*id, Some(key.clone())));
            leased.chain(chosen.iter().cloned()).filter(|(_, handler_key)| {
                handler_key.as_ref().is_some_and(|key| self.first_key(key) == first_key)
            })
        };
        // A run counts as one.
        let units = |names: &mut dyn Iterator<Item = Name>| {
            let unit = |name: Name| self.lane_of(&name).ok_or(name);
            names.map(unit).collect::<BTreeSet<_>>().len()
        };
        let fits = |count: usize, limit: u32| count < limit as usize;
        let of_key = || units(&mut held().filter(|other| self.concurrency_key(other) == key));
        wanted.terms.fleet.is_none_or(|limit| fits(units(&mut held()), limit.get()))
            && (key.is_none()
                || wanted.terms.per_key.is_none_or(|limit| fits(of_key(), limit.get())))
    }

    /// Its tenant and concurrency key, if it has one.
    pub(crate) fn concurrency_key(&self, name: &Name) -> Option<(&str, &str)> {
        let message = &self.messages.get(&name.0)?.message;
        Some((&message.tenant, message.concurrency_key.as_ref()?))
    }
}
