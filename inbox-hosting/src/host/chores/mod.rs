//! The maintenance duties of a host. Each chore is a service of its own: it has a name, an interval, a
//! timeout and an entry in the host's health, runs in a task of its own, and is supervised. A chore that
//! fails, hangs or panics keeps no other from running.
//!
//! | file | holds |
//! |---|---|
//! | `chore`, `name` | what a chore is, and what it is called |
//! | `list` | every chore there is |
//! | `run` | the loop that runs one, round after round |
//! | `promote` | makes due deliveries ready |
//! | `heartbeat`, `beats` | says that this host lives, and remembers for how long it has been able to |
//! | `reclaim` | takes expired leases away from vanished workers |
//! | `route` | routes messages that were accepted while their first handler registered |
//! | `repair` | repairs lanes and limits that a crash left behind |
//! | `orphans` | dead-letters deliveries that no live host serves |
//! | `log` | logs each delivery that a chore takes from a worker or dead-letters |
//! | `pages` | how much a round does at most |
//! | `once` | the chores before `process_pending` |
//!
//! A new chore is a file with its [`Chore`](chore::Chore), and a line in `list`.

mod beats;
mod chore;
mod clocks;
mod heartbeat;
mod list;
mod log;
mod name;
mod once;
mod orphans;
mod pages;
mod promote;
mod reclaim;
mod repair;
mod route;
mod run;

pub(super) use list::{all, spawn};
pub(super) use once::once;
pub(super) use promote::promote_due;

pub(crate) use beats::Beats;

pub use name::ChoreName;
