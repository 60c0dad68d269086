//! The test kit of `inbox`: what users test their handlers with, and what stores are tested with.

mod assert;
mod builder;
mod clock;
pub mod conformance;
#[cfg(feature = "postgres")]
pub mod fault;
mod inbox;
pub mod ledger;
mod look;
#[cfg(feature = "postgres")]
pub mod postgres;

#[doc(hidden)]
pub use assert::__shown;
pub use builder::TestInboxBuilder;
pub use clock::TestClock;
pub use inbox::TestInbox;
