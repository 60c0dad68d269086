use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values kept by their type, one of each. Empty, it allocates nothing.
///
/// A value's own code (its `Drop`, its `Clone`) never runs under the lock: it might come back here.
pub(super) struct Shelf<V>(Mutex<Vec<(TypeId, V)>>);

/// What a layer lends, and to which run: taken by whoever needs it, and given back.
pub(super) type Loans = Shelf<(u32, Box<dyn Any + Send>)>;

/// What a layer leaves for all to see.
pub(super) type Extensions = Shelf<Arc<dyn Any + Send + Sync>>;

impl<V> Shelf<V> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Puts a value in the place of `type_id`, dropping what was there.
    pub(super) fn put(&self, type_id: TypeId, value: V) {
        let mut values = self.lock();
        let previous = position(&values, type_id).map(|at| values.swap_remove(at));
        values.push((type_id, value));
        drop(values);
        drop(previous);
    }

    pub(super) fn take(&self, type_id: TypeId) -> Option<V> {
        let mut values = self.lock();
        let at = position(&values, type_id)?;
        Some(values.swap_remove(at).1)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(TypeId, V)>> {
        // Nothing is half-done when a holder panics: every change is one push or one remove.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Extensions {
    pub(super) fn get(&self, type_id: TypeId) -> Option<Arc<dyn Any + Send + Sync>> {
        let values = self.lock();
        let at = position(&values, type_id)?;
        Some(Arc::clone(&values[at].1))
    }
}

fn position<V>(values: &[(TypeId, V)], type_id: TypeId) -> Option<usize> {
    values.iter().position(|(id, _)| *id == type_id)
}

impl<V> fmt::Debug for Shelf<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shelf({})", self.lock().len())
    }
}
