//! TLS for the connections that a store makes: what is asked for, whom to trust, what to say.

mod connector;
mod mode;
mod refused;
mod roots;
mod settings;
mod verify;

pub(crate) use connector::{Connector, unverified};
pub use mode::Tls;
pub(crate) use refused::explain;
pub(crate) use roots::Roots;
pub(crate) use settings::TlsSettings;
