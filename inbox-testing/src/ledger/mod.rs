//! What happened, and whether it may.
//!
//! A [`Ledger`] is a file beside the store that any number of processes append to, even while they
//! are killed. The test writes down which commands were accepted, a [layer](Ledger::layer) around
//! the handlers writes down every run. In the end [`History::check`] compares all that with what
//! the store says: nothing lost, nothing doubled.
//!
//! ```
//! use inbox_core::dispatch::Layers;
//! use inbox_testing::ledger::{self, Expectations, Ledger};
//! # async fn with(store: &dyn inbox_core::store::Inspect, path: &std::path::Path)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let ledger = Ledger::open(path)?;
//! let mut layers = Layers::default();
//! layers.push(ledger.layer());
//! // Run hosts with these layers, schedule and note each receipt with `ledger.accepted`; then:
//! let stored = ledger::stored(store).await?;
//! let summary = Ledger::read(path)?.check(&stored, &Expectations::new().settled())?;
//! println!("{summary}");
//! # Ok(())
//! # }
//! ```
//!
//! Runs are timed by this machine's clock and leases by the store's: the two must agree. They do
//! where both are on one machine, or where [`Ledger::with_clock`] says otherwise.
//!
//! | file | holds |
//! |---|---|
//! | `entry`, `line`, `fields` | what is noted, and how it is written |
//! | `file`, `layer` | who writes it |
//! | `history`, `run` | what is read, and which start belongs to which end |
//! | `stored`, `expectations` | what it is compared with |
//! | `check` | the rules, one file for each kind |
//! | `violation`, `summary` | what came out |

mod check;
mod entry;
mod expectations;
mod fields;
mod file;
mod history;
mod layer;
mod line;
mod run;
mod stored;
mod summary;
mod violation;

pub use entry::{Entry, SeenLease};
pub use expectations::Expectations;
pub use file::Ledger;
pub use history::{History, TornLine};
pub use layer::{LedgerLayer, Recorded, Recording};
pub use stored::stored;
pub use summary::Summary;
pub use violation::{Rule, Violation, Violations};
