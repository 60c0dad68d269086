//! A delivery on its way to its handler: the request that layers see, and the service they wrap.

mod attempt;
mod cancel;
mod decode;
mod delivery;
mod layers;
mod panic;
mod pipeline;
mod request;
mod retry;
mod service;
mod shelf;
mod transaction;

pub use attempt::{Attempt, HeldLease};
pub use cancel::CancelCause;
pub use decode::decode;
pub use delivery::Delivery;
pub use layers::Layers;
pub use panic::dispose;
pub use pipeline::Pipeline;
pub use request::Request;
pub use service::HandlerService;
pub use tokio_util::sync::CancellationToken;

pub(crate) use panic::caught;
use pipeline::settlements;
