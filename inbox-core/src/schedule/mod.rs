//! A command on its way into a store: how it is to be accepted, and what no store would take.

mod error;
mod limits;
mod options;
mod prepare;
mod start;

pub use error::ScheduleError;
pub use limits::Limits;
pub use options::{OnConflict, ScheduleOptions};
pub use prepare::prepare;
pub use start::{Priority, Start};
