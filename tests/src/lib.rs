//! What the tests of this crate share.

pub mod deliver;
pub mod fixture;
pub mod log;
