//! What an attempt came to, and what follows from it.

mod cancel;
mod decide;
mod each;
mod error;
mod report;

pub use cancel::CancelCause;
pub use decide::{Decision, RetryLimits, Tries, decide};
pub use each::{Outcome, Outcomes};
pub use error::HandlerError;
