//! *lease → done, waiting or dead*.

mod attempts;
mod fence;
mod lists;
mod places;

pub use attempts::*;
pub use fence::*;
pub use lists::*;
pub use places::*;
