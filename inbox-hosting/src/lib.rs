//! What a process does with a store: it registers its handlers, schedules, and runs what is due.
//!
//! [`Inbox::builder`] takes what a program has to say, and its `build` checks it all. Then
//! [`Inbox::run_until`] or [`Inbox::start`] begins a host: the pump (lease, dispatch, settle), the
//! renewer of its leases, the chores, listener and probe, each of which gets over an outage of the store by
//! itself. [`Inbox::control`] says how they are. [`Inbox::process_pending`] is the pump alone, until nothing
//! is due.
//!
//! | module | holds |
//! |---|---|
//! | `builder` | what a program says before it starts |
//! | `inbox` | the value it works with |
//! | `run_now` | handlers run at once, storing nothing |
//! | `host` | the loops that go on until they are told to stop |
//! | `fleet` | routes and hosts: what operators do |
//! | `port` | the store as all of them see it: each call with a span, a duration and a count |

mod builder;
mod error;
mod fleet;
mod handlers;
mod host;
mod inbox;
mod port;
mod run_now;

pub use builder::InboxBuilder;
pub use error::Error;
pub use host::{
    ChoreName, DeliveryInfo, Event, Health, HostControl, HostError, HostHandle, HostLoop,
    HostPhase, Load, LoopHealth, Observer, PendingReport, ShutdownReport, shutdown_signal,
};
pub use inbox::Inbox;
pub use port::{MeterReading, StoreVerb, VerbCounts};
pub use run_now::RunNowError;
