use std::fmt;

use super::{Contract, KeyTemplates, Lineage};
use crate::Location;

/// One registered contract.
#[derive(Debug, Clone, Copy)]
pub struct ContractDescriptor {
    /// The stable name, stored with every message.
    pub name: &'static str,
    /// The version, from 1.
    pub version: u32,
    /// The versions its type reads.
    pub lineage: Lineage,
    /// The keys as they were written.
    pub keys: KeyTemplates,
    /// The type, as its user spells it.
    pub type_name: &'static str,
    /// The attribute that registered it.
    pub location: Location,
}

impl ContractDescriptor {
    /// Describes `T`, declared as `type_name` at `location`.
    #[must_use]
    pub const fn of<T: Contract>(type_name: &'static str, location: Location) -> Self {
        let (name, version) = (T::NAME, T::VERSION);
        Self { name, version, lineage: T::LINEAGE, keys: T::KEYS, type_name, location }
    }
}

/// The name and the version: `payments.refund v2`.
impl fmt::Display for ContractDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}", self.name, self.version)
    }
}
