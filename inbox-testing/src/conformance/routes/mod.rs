//! Which handler keys take which contracts.

mod context;
mod register;
mod restore;
mod retire;
mod supersede;
mod sweep;

pub use context::*;
pub use register::*;
pub use restore::*;
pub use retire::*;
pub use supersede::*;
pub use sweep::*;
