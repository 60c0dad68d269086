//! The store as the host sees it: every call of the host's goes through here, whichever store it is, and
//! has a span, a duration and a place in the counts.
//!
//! | file | holds |
//! |---|---|
//! | `verb` | what is asked of a store, by name |
//! | `meter` | how often, for how long and with what success, by verb |
//! | `reading` | what others read of it |
//! | `call` | one call, from its first poll to its end |
//! | `delegate` | what a verb of the port is: a call of the store's |
//! | `spine` | schedule, lease and settle |
//! | `inspect`, `maintain` | the verbs for people, and those of the chores |
//! | `renewer`, `transactions` | what a store gives out to be called later |

#[macro_use]
mod delegate;
mod call;
mod inspect;
mod maintain;
mod meter;
mod reading;
mod renewer;
mod spine;
mod transactions;
mod verb;

use std::sync::Arc;

pub(crate) use meter::Meter;
pub use reading::{MeterReading, VerbCounts};
pub use verb::StoreVerb;

/// A store whose calls are measured.
pub(crate) struct Port<S> {
    store: Arc<S>,
    meter: Arc<Meter>,
}

impl<S> Port<S> {
    pub(crate) fn new(store: Arc<S>) -> Self {
        Self { store, meter: Arc::default() }
    }

    pub(crate) const fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }
}
