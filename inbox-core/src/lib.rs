//! What `inbox` is made of, apart from any database: contracts, handlers, the registry that knows
//! them, and the dispatch of a message to its handler.
//!
//! **Implementation detail of the `inbox` crate.** Only `inbox` follows
//! semantic versioning; depend on it instead.
//!
//! Read in the order a message travels:
//!
//! | module | holds |
//! |---|---|
//! | [`contract`] | what a message is: name, version, keys, and how older versions are read |
//! | [`message`] | one message: id, payload, headers |
//! | [`schedule`] | a command on its way into a store |
//! | [`store`] | what a store promises |
//! | [`handler`] | what runs: the erased handler, its options, what it may return |
//! | [`extract`] | what a handler may ask for besides the command |
//! | [`registry`] | everything this binary registered, checked at start-up |
//! | [`dispatch`] | a delivery on its way through the layers to its handler |
//! | [`settle`] | what becomes of it |
//! | [`policy`] | numbers that decide about retries and limits |

pub mod contract;
pub mod dispatch;
pub mod extract;
pub mod handler;
pub mod message;
pub mod policy;
pub mod registry;
pub mod schedule;
pub mod settle;
pub mod store;

mod clock;
mod location;
mod timestamp;

#[doc(hidden)]
pub mod __private;

pub use clock::{Clock, Now, StoreClock};
pub use location::Location;
pub use timestamp::{ParseTimestampError, Timestamp};
