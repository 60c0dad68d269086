//! Who is there, what nobody serves, and what becomes of that.

mod grace;
mod hosts;
mod lanes;
mod orphans;
mod routes;

pub use grace::*;
pub use hosts::*;
pub use lanes::*;
pub use orphans::*;
pub use routes::*;
