//! A delivery on its way to its handler: the request that layers see, and the service they wrap.

mod decode;
mod delivery;
mod held;
mod layers;
mod panic;
mod pipeline;
mod request;
mod retry;
mod service;
mod shelf;
mod unit;

pub use decode::decoded;
pub use delivery::Delivery;
pub use held::{HeldLease, HeldLeases};
pub use layers::Layers;
pub use panic::dispose;
pub use pipeline::Pipeline;
pub use request::Request;
pub use service::HandlerService;
pub use tokio_util::sync::CancellationToken;
pub use unit::{Ended, Unit, UnitFuture};

pub(crate) use panic::caught;
