//! What becomes of a delivery after its handler ran: decided here, written by the store.

mod decide;
mod outcome;
mod report;
mod settlement;

pub use decide::{Decision, RetryLimits, Tries, decide};
pub use outcome::{Outcome, Outcomes};
pub use report::ErrorReport;
pub use settlement::{DeadReason, DoneOutcome, Settlement};
