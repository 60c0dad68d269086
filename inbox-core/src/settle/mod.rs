//! What becomes of a delivery after its handler ran: decided here, written by the store.

mod decide;
mod report;
mod settlement;

pub use decide::{Chances, Outcome, decide};
pub use report::ErrorReport;
pub use settlement::{DeadReason, DoneOutcome, Settlement};
