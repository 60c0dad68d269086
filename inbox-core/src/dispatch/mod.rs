//! A delivery on its way to its handler: the request that layers see, and the service they wrap.

mod delivery;
mod request;
mod service;
mod shelf;

pub use delivery::Delivery;
pub use request::Request;
pub use service::HandlerService;
pub use tokio_util::sync::CancellationToken;
