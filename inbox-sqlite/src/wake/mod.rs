//! How workers learn that something may be ready.

mod listen;
mod rings;

pub(crate) use listen::listen;
pub(crate) use rings::{Moved, Rings, Turns};
