//! What a message is: its stable name and version, its keys, and the older versions it can read.

pub(crate) mod decode;
mod descriptor;
mod durable;
mod encode;
pub(crate) mod key;
mod lineage;
pub(crate) mod upgrade;

use crate::message::Payload;

pub use decode::DecodeError;
pub use descriptor::ContractDescriptor;
pub use durable::Durable;
pub use encode::EncodeError;
pub use key::{KeyPart, KeyTemplates};
pub use lineage::Lineage;
pub use upgrade::UpgradesFrom;

/// A type whose values are stored as durable messages.
///
/// Written by `#[inbox_contract]` or `contract!`, which also register it. Implemented by hand a
/// contract is not registered, and the registry refuses handlers of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an inbox contract",
    label = "not a contract",
    note = "put `#[inbox_contract(name = \"...\", version = 1)]` on the type, above its derives",
    note = "for a closed generic type write `inbox::contract!({Self}, name = \"...\", version = 1);`"
)]
pub trait Contract: Durable {
    /// The name stored with every message; it outlives renames of the type.
    const NAME: &'static str;
    /// The version stored with every message, from 1.
    const VERSION: u32;
    /// The keys as they were written in the attribute.
    const KEYS: KeyTemplates;
    /// This version and those it can read through `upgrades`.
    const LINEAGE: Lineage;

    /// Two messages of this contract with the same idempotency key are one message.
    fn idempotency_key(&self) -> Option<String> {
        None
    }

    /// Messages with the same ordering key are handled one at a time, in order.
    fn ordering_key(&self) -> Option<String> {
        None
    }

    /// What a handler's limit per key counts.
    fn concurrency_key(&self) -> Option<String> {
        None
    }

    /// Reads a payload that was stored as `version` of this contract, upgrading it where needed.
    ///
    /// # Errors
    /// When the payload does not fit that version, or this contract does not read it.
    fn decode(version: u32, payload: &Payload) -> Result<Self, DecodeError> {
        decode::exactly(version, payload)
    }
}
