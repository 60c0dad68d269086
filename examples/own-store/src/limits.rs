use inbox::store::Wanted;

use crate::table::{Name, Table};

impl Table {
    /// Whether the limits of the fleet let a worker hold this one too, beside what is held and what it has
    /// chosen already. What has expired is held until it is reclaimed.
    pub(crate) fn has_room(&self, wanted: &Wanted, name: &Name, chosen: &[Name]) -> bool {
        let first_key = self.first_key(&wanted.handler_key);
        let key = self.concurrency_key(name);
        let held = || {
            let leased = self
                .leases
                .values()
                .flat_map(|held| held.open.iter().map(|id| (*id, Some(held.handler_key.clone()))));
            leased.chain(chosen.iter().cloned()).filter(|(_, handler_key)| {
                handler_key.as_ref().is_some_and(|key| self.first_key(key) == first_key)
            })
        };
        let fits = |count: usize, limit: u32| count < limit as usize;
        let of_key = || held().filter(|other| self.concurrency_key(other) == key).count();
        wanted.terms.fleet.is_none_or(|limit| fits(held().count(), limit.get()))
            && (key.is_none()
                || wanted.terms.per_key.is_none_or(|limit| fits(of_key(), limit.get())))
    }

    /// Its tenant and concurrency key, if it has one.
    fn concurrency_key(&self, name: &Name) -> Option<(&str, &str)> {
        let message = &self.messages.get(&name.0)?.message;
        Some((&message.tenant, message.concurrency_key.as_ref()?))
    }
}
