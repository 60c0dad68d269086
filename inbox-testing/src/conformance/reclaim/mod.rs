//! *lease → ready or dead*.

mod accused;
mod expired;

pub use accused::*;
pub use expired::*;
