//! The loops that run for months: one host for each started inbox.
//!
//! | file | holds |
//! |---|---|
//! | `start`, `handle`, `signal` | how it begins and how it is told to end |
//! | `life` | all of it, from its start to its end |
//! | `pump` | lease, dispatch, settle |
//! | `leases`, `renew` | the leases it holds, and the thread that keeps them |
//! | `overdue` | that its end is told also when its runtime does not move |
//! | `listen` | what other processes do wakes the pump; whether the store can be used |
//! | `chores` | maintenance duties, each a service of its own |
//! | `supervise`, `pause` | loops that fail, and how long to wait then |
//! | `control`, `board`, `health` | pause, resume and drain; how the host is |
//! | `observe` | who is told about it |

mod board;
mod chores;
mod control;
mod handle;
mod health;
mod leases;
mod life;
mod listen;
mod observe;
mod options;
mod overdue;
mod pause;
mod pump;
mod renew;
mod shared;
mod signal;
mod start;
mod supervise;

pub(crate) use chores::Beats;
pub(crate) use control::Control;
pub(crate) use options::HostOptions;

pub use chores::ChoreName;
pub use control::HostControl;
pub use handle::HostHandle;
pub use health::{Health, HostLoop, HostPhase, Load, LoopHealth};
pub use observe::{DeliveryInfo, Event, Observer};
pub use pump::{PendingReport, ShutdownReport};
pub use signal::shutdown_signal;
pub use start::HostError;
