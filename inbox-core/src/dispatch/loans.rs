use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Values that a layer lends to the handler, one of each type.
///
/// The request is cloned by layers while such a value (a transaction, say) cannot be, so clones
/// share it: whoever takes it owns it until it is given back. Empty, it allocates nothing.
#[derive(Default)]
pub(super) struct Loans(Mutex<Vec<(TypeId, Box<dyn Any + Send>)>>);

impl Loans {
    /// Offers `value`; answers what was offered before and never taken.
    pub(super) fn put<T: Send + 'static>(&self, value: T) -> Option<T> {
        let previous = self.take();
        self.lock().push((TypeId::of::<T>(), Box::new(value)));
        previous
    }

    /// Takes the value of type `T`, if it is here.
    pub(super) fn take<T: Send + 'static>(&self) -> Option<T> {
        let mut loans = self.lock();
        let at = loans.iter().position(|(id, _)| *id == TypeId::of::<T>())?;
        let (_, value) = loans.swap_remove(at);
        value.downcast().ok().map(|value| *value)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(TypeId, Box<dyn Any + Send>)>> {
        // No code of a user runs under this lock, so a poisoned one holds nothing half-done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Loans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loans({})", self.lock().len())
    }
}
