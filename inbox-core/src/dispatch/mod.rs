//! A delivery on its way to its handler: the request that layers see, and the service they wrap.

mod delivery;
mod loans;
mod request;
mod service;

pub use delivery::Delivery;
pub use request::Request;
pub use service::HandlerService;
