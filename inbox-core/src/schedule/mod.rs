//! A command on its way into a store: how it is to be accepted, and what the caller is told.

mod error;
mod limits;
mod options;
mod prepare;
mod receipt;
mod start;

pub use error::ScheduleError;
pub use limits::Limits;
pub use options::{OnConflict, ScheduleOptions};
pub use prepare::prepare;
pub use receipt::{Acceptance, Receipt};
pub use start::{Priority, Start};
