//! The request that layers pass on to a handler: the attempts, and all that a run needs.

mod attempt;
mod lane_run;
#[expect(clippy::module_inception, reason = "the room is named after what most come for")]
mod request;
mod shelf;

pub use attempt::{Attempt, HeldLease};
pub use lane_run::LaneRun;
pub use request::Request;
pub use tokio_util::sync::CancellationToken;
