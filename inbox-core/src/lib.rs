//! What `inbox` is made of, apart from any database: contracts, handlers, the registry that knows
//! them, and the dispatch of a message to its handler.
//!
//! **Implementation detail of the `inbox` crate.** Only `inbox` follows
//! semantic versioning; depend on it instead.
//!
//! Each module depends on those above it, and a test keeps it so:
//!
//! | module | holds |
//! |---|---|
//! | [`error`], `panic` | what users' code answers, or does instead |
//! | [`message`] | one message and its deliveries: id, payload, headers |
//! | [`policy`] | numbers that decide about retries and limits |
//! | [`settle`] | what becomes of a delivery, as it is stored |
//! | [`contract`] | what a message is: name, version, keys, and how older versions are read |
//! | [`store`] | what a store promises |
//! | [`schedule`] | a command on its way into a store |
//! | [`outcome`] | what an attempt came to, and what follows from it |
//! | [`provide`] | what a handler may ask for, and what is said where it is missing |
//! | [`request`] | the attempts that one call of a handler makes |
//! | [`extract`] | what a handler may ask for besides the command |
//! | [`handler`] | what runs: the erased handler, and what it may return |
//! | [`registry`] | everything this binary registered, checked at start-up |
//! | [`dispatch`] | a request on its way through the layers to its handler |
//!
//! Whoever writes a store, a broker or a tool needs nothing from [`outcome`] on but [`provide`]: without the
//! feature `dispatch` the rest is not there, and neither are `tower` and `inventory`.

pub mod contract;
#[cfg(feature = "dispatch")]
pub mod dispatch;
pub mod error;
#[cfg(feature = "dispatch")]
pub mod extract;
#[cfg(feature = "dispatch")]
pub mod handler;
pub mod message;
#[cfg(feature = "dispatch")]
pub mod outcome;
pub mod policy;
pub mod provide;
#[cfg(feature = "dispatch")]
pub mod registry;
#[cfg(feature = "dispatch")]
pub mod request;
pub mod schedule;
pub mod settle;
pub mod store;

mod clock;
mod location;
#[cfg(feature = "dispatch")]
mod panic;
mod timestamp;

#[doc(hidden)]
pub mod __private;

pub use clock::{Clock, Now, StoreClock};
pub use location::Location;
#[cfg(feature = "dispatch")]
pub use panic::dispose;
pub use timestamp::{ParseTimestampError, Timestamp};
