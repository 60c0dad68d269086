use std::any::type_name;
use std::ops::{Deref, DerefMut};

use super::{Extract, ExtractBatch, Setup};
use crate::error::Rejection;
use crate::provide::Missing;
use crate::request::Request;

/// A value given to the builder with `.state(value)`, cloned for every run.
///
/// Wrap what is costly to clone in an `Arc`. A handler that asks for a state no one provided fails
/// at start-up, not at its first message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State<T>(pub T);

impl<T: Shareable> Extract for State<T> {
    type Prepared = T;

    fn prepare(setup: &Setup<'_>) -> Result<T, Missing> {
        setup.state::<T>().cloned().ok_or(Missing::State { type_name: type_name::<T>() })
    }

    fn extract(prepared: &T, _: &Request) -> Result<Self, Rejection> {
        Ok(Self(prepared.clone()))
    }
}

impl<T: Shareable> ExtractBatch for State<T> {}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for State<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A value of which every run can have its own: anything `Clone`, `Send` and `Sync` that borrows
/// nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a state, because every run is given a clone of it",
    label = "not `Clone`, `Send`, `Sync` and `'static`",
    note = "share it: write `State<Arc<{Self}>>`, and give the builder `.state(Arc::new(value))`",
    note = "or derive `Clone` for it, if clones are the same thing"
)]
pub trait Shareable: Clone + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> Shareable for T {}
