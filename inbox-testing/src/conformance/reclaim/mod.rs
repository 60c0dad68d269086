//! *lease → ready or dead*.

mod accused;
mod expired;
mod runs;

pub use accused::*;
pub use expired::*;
pub use runs::*;
