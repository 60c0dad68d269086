//! What is stored, and *dead → ready*.

mod counts;
mod list;
mod retry;
mod show;

pub use counts::*;
pub use list::*;
pub use retry::*;
pub use show::*;
