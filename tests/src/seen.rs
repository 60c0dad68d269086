//! What handlers saw.

use std::sync::{Arc, Mutex, PoisonError};

/// What handlers saw, in order. Clones are one list.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    /// Adds one thing.
    pub fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    /// Everything until now.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
