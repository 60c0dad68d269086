//! *ready or waiting → done*, and the wish that a worker stop.

mod at_once;
mod held;
mod meeting;

pub use at_once::*;
pub use held::*;
pub use meeting::*;
