use std::any::{Any, TypeId, type_name};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// What the builder was given for handlers to ask for.
#[derive(Default)]
pub(crate) struct Provided {
    states: HashMap<TypeId, ProvidedState>,
    lent: HashSet<TypeId>,
    /// The types of which a second value was given.
    pub(crate) repeated: Vec<&'static str>,
}

struct ProvidedState {
    type_name: &'static str,
    value: Box<dyn Any + Send + Sync>,
}

impl Provided {
    pub(crate) fn add_state<T: Send + Sync + 'static>(&mut self, value: T) {
        let type_name = type_name::<T>();
        let state = ProvidedState { type_name, value: Box::new(value) };
        if self.states.insert(TypeId::of::<T>(), state).is_some() {
            self.repeated.push(type_name);
        }
    }

    pub(crate) fn add_lent(&mut self, type_id: TypeId) {
        self.lent.insert(type_id);
    }

    pub(crate) fn state<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.states.get(&TypeId::of::<T>())?.value.downcast_ref()
    }

    pub(crate) fn lends(&self, type_id: TypeId) -> bool {
        self.lent.contains(&type_id)
    }

    /// The types of all states, sorted by name.
    pub(crate) fn type_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.states.values().map(|state| state.type_name).collect();
        names.sort_unstable();
        names
    }
}

// States hold connections and secrets: only their types are shown.
impl fmt::Debug for Provided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.type_names()).finish()
    }
}
