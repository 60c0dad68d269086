//! A request on its way to its handler: what stands around it, and in which order.

mod begin;
mod decode;
mod layers;
mod panic;
mod pipeline;
mod retry;
mod transaction;

pub use decode::decode;
pub use layers::Layers;
pub use pipeline::Pipeline;

use pipeline::settlements;
