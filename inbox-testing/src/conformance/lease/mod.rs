//! *ready → lease*.

mod claim;
mod dropped;
mod order;
mod quarantine;
mod tenants;
mod wanted;

pub use claim::*;
pub use dropped::*;
pub use order::*;
pub use quarantine::*;
pub use tenants::*;
pub use wanted::*;
