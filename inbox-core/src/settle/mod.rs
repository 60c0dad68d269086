//! What becomes of a delivery, as the store writes it.

mod report;
mod settlement;
mod state;

pub use report::ErrorReport;
pub use settlement::{DeadReason, DoneOutcome, Settlement};
pub use state::{DeliveryState, ParseDeliveryStateError};
