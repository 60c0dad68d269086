use std::any::{Any, TypeId, type_name};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// What the builder was given for handlers to ask for.
#[derive(Default)]
pub(crate) struct Provided {
    states: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    lent: HashSet<TypeId>,
    // By name, for error messages that list what there is.
    pub(super) state_names: BTreeMap<&'static str, u32>,
}

impl Provided {
    pub(super) fn add_state<T: Send + Sync + 'static>(&mut self, state: T) {
        *self.state_names.entry(type_name::<T>()).or_default() += 1;
        self.states.insert(TypeId::of::<T>(), Box::new(state));
    }

    pub(super) fn add_lender<T: 'static>(&mut self) {
        self.lent.insert(TypeId::of::<T>());
    }

    pub(crate) fn state<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.states.get(&TypeId::of::<T>())?.downcast_ref()
    }

    pub(crate) fn lends(&self, type_id: TypeId) -> bool {
        self.lent.contains(&type_id)
    }

    /// The types that were provided more than once.
    pub(super) fn repeated_states(&self) -> impl Iterator<Item = &'static str> {
        self.state_names.iter().filter(|(_, times)| **times > 1).map(|(name, _)| *name)
    }
}

// States hold connections and secrets: only their types are shown.
impl fmt::Debug for Provided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.state_names.keys()).finish()
    }
}
