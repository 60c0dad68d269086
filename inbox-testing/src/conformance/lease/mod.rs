//! *ready → lease*.

mod claim;
mod dropped;
mod order;
mod suspects;
mod tenants;
mod wanted;

pub use claim::*;
pub use dropped::*;
pub use order::*;
pub use suspects::*;
pub use tenants::*;
pub use wanted::*;
