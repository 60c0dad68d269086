//! A command on its way into a store: how it is to be accepted, what no store would take, and the
//! receipt for it.

mod accept;
mod bulk;
mod bulk_writer;
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
mod within;

pub(crate) use origin::Origin;

pub use crate::message::{OnConflict, Priority, Start};
pub use bulk_writer::{BulkReceipt, BulkWriter, Envelopes};
pub use codec::{About, Codec};
pub use error::ScheduleError;
pub use limits::Limits;
pub use options::ScheduleOptions;
pub use prepare::prepare;
pub use receipt::{Acceptance, Receipt};
pub use scheduler::Scheduler;
pub use within::TransactionOf;
