//! Which handler keys take which contracts.

mod register;
mod supersede;
mod sweep;

pub use register::*;
pub use supersede::*;
pub use sweep::*;
