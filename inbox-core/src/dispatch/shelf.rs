use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values kept by their type, one of each. Empty, it allocates nothing.
pub(super) struct Shelf<V: ?Sized>(Mutex<Vec<(TypeId, Box<V>)>>);

/// What a layer lends: taken by whoever needs it, and given back.
pub(super) type Loans = Shelf<dyn Any + Send>;

/// What a layer leaves for all to see.
pub(super) type Extensions = Shelf<dyn Any + Send + Sync>;

impl<V: ?Sized> Shelf<V> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Puts a value in the place of `type_id`, dropping what was there.
    pub(super) fn put(&self, type_id: TypeId, value: Box<V>) {
        let mut values = self.lock();
        let previous = position(&values, type_id).map(|at| values.swap_remove(at));
        values.push((type_id, value));
        // A value's own code runs when it is dropped: not under the lock.
        drop(values);
        drop(previous);
    }

    pub(super) fn take(&self, type_id: TypeId) -> Option<Box<V>> {
        let mut values = self.lock();
        let at = position(&values, type_id)?;
        Some(values.swap_remove(at).1)
    }

    /// Looks at the value of `type_id`. `look` must be short: others wait.
    pub(super) fn look<R>(&self, type_id: TypeId, look: impl FnOnce(&V) -> R) -> Option<R> {
        let values = self.lock();
        let at = position(&values, type_id)?;
        Some(look(&values[at].1))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(TypeId, Box<V>)>> {
        // Nothing is half-done when a holder panics: every change is one push or one remove.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn position<V: ?Sized>(values: &[(TypeId, Box<V>)], type_id: TypeId) -> Option<usize> {
    values.iter().position(|(id, _)| *id == type_id)
}

impl<V: ?Sized> fmt::Debug for Shelf<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shelf({})", self.lock().len())
    }
}
