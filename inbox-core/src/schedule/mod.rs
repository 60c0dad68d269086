//! A command on its way into a store: how it is to be accepted, what no store would take, and the
//! receipt for it.

mod accept;
mod bulk;
mod check;
mod codec;
mod detached;
mod error;
mod limits;
mod options;
mod origin;
mod prepare;
mod receipt;
mod scheduler;
mod start;
mod within;

pub(crate) use origin::Origin;

pub use codec::{About, Codec};
pub use error::ScheduleError;
pub use limits::Limits;
pub use options::{OnConflict, ScheduleOptions};
pub use prepare::prepare;
pub use receipt::{Acceptance, Receipt};
pub use scheduler::Scheduler;
pub use start::{Priority, Start};
pub use within::TransactionOf;
