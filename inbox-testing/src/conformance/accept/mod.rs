//! *nothing → ready or waiting*.

mod answers;
mod duplicates;
mod fan_out;
mod fields;
mod keys;
mod start;
mod together;

pub use answers::*;
pub use duplicates::*;
pub use fan_out::*;
pub use fields::*;
pub use keys::*;
pub use start::*;
pub use together::*;
