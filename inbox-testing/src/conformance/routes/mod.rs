//! Which handler keys take which contracts.

mod context;
mod register;
mod supersede;
mod sweep;

pub use context::*;
pub use register::*;
pub use supersede::*;
pub use sweep::*;
