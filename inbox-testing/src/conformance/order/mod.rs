//! Lanes: deliveries of one handler that share an ordering key run one at a time, in order.

mod act;
mod dead;
mod head;
mod keep;
mod lanes;
mod meeting;
mod scope;
mod unrouted;

pub use act::*;
pub use dead::*;
pub use head::*;
pub use keep::*;
pub use lanes::*;
pub use meeting::*;
pub use scope::*;
pub use unrouted::*;
