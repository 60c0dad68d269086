//! *lease → done, waiting, dead or ready*.

mod attempts;
mod back;
mod fence;
mod lists;
mod places;

pub use attempts::*;
pub use back::*;
pub use fence::*;
pub use lists::*;
pub use places::*;
