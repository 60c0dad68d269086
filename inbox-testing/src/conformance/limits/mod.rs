//! Limits of the whole fleet: so many deliveries of a handler, or of one of its concurrency keys, are held.

mod fleet;
mod freed;
mod meeting;
mod per_key;
mod permits;
mod runs;

pub use fleet::*;
pub use freed::*;
pub use meeting::*;
pub use per_key::*;
pub use permits::*;
pub use runs::*;

use std::num::NonZeroU32;

use inbox_core::message::Envelope;
use inbox_core::store::{Terms, Wanted};

use super::kit::{envelope, wanted};

/// Any number of a handler that is limited in the fleet.
fn limited(handler_key: &str, fleet: u32) -> Wanted {
    let terms = Terms { fleet: NonZeroU32::new(fleet), ..Terms::default() };
    Wanted { terms, ..wanted(handler_key, 10) }
}

/// Any number of a handler that is limited by concurrency key.
pub(super) fn per_key(handler_key: &str, per_key: u32) -> Wanted {
    let terms = Terms { per_key: NonZeroU32::new(per_key), ..Terms::default() };
    Wanted { terms, ..wanted(handler_key, 10) }
}

/// One of those that share a concurrency key.
pub(super) fn sharing(contract: &str, concurrency_key: &str) -> Envelope {
    let mut envelope = envelope(contract);
    envelope.message.concurrency_key = Some(concurrency_key.to_owned());
    envelope
}
