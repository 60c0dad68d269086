//! Who is there, what nobody serves, and what becomes of that.

mod grace;
mod hosts;
mod orphans;
mod routes;

pub use grace::*;
pub use hosts::*;
pub use orphans::*;
pub use routes::*;
