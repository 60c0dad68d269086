use std::any::{TypeId, type_name};

use super::{Extract, ExtractBatch, Provided};
use crate::provide::{Lend, Missing};

/// What is at hand when handlers are bound, and what turned out to be missing.
#[derive(Debug)]
pub struct Setup<'a> {
    provided: &'a Provided,
    missing: Vec<Missing>,
    borrowed: Vec<TypeId>,
}

impl<'a> Setup<'a> {
    pub(crate) fn new(provided: &'a Provided) -> Self {
        Self { provided, missing: Vec::new(), borrowed: Vec::new() }
    }

    /// The value given to the builder with `.state(value)`.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.provided.state()
    }

    /// Prepares one argument, or notes what it lacks.
    #[doc(hidden)]
    pub fn prepare<A: Extract>(&mut self) -> Option<A::Prepared> {
        A::prepare(self).map_err(|missing| self.missing.push(missing)).ok()
    }

    /// Prepares one argument of a handler that takes a batch.
    #[doc(hidden)]
    pub fn prepare_for_batch<A: ExtractBatch>(&mut self) -> Option<A::Prepared> {
        self.prepare::<A>()
    }

    /// Makes sure that an argument `&mut T` will be lent.
    #[doc(hidden)]
    pub fn expect_loan<T: Lend>(&mut self) -> Option<()> {
        let (type_id, type_name) = (TypeId::of::<T>(), type_name::<T>());
        if self.borrowed.contains(&type_id) {
            self.missing.push(Missing::Other {
                what: format!("there is one `&mut {type_name}` for a run, and two are taken"),
                fix: "take it once, and pass it on".to_owned(),
            });
            return None;
        }
        self.borrowed.push(type_id);
        if !self.provided.lends(type_id) {
            self.missing.push(T::missing());
            return None;
        }
        Some(())
    }

    /// What is missing, and what the handler borrows.
    pub(crate) fn into_parts(self) -> (Vec<Missing>, Vec<TypeId>) {
        (self.missing, self.borrowed)
    }
}
