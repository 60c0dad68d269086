//! Lanes: deliveries of one handler that share an ordering key run one at a time, in order. A claim takes the
//! oldest of a lane as a run.

mod act;
mod dead;
mod head;
mod keep;
mod lanes;
mod meeting;
mod position;
mod run_ends;
mod run_stops;
mod runs;
mod scope;
mod unrouted;

pub use act::*;
pub use dead::*;
pub use head::*;
pub use keep::*;
pub use lanes::*;
pub use meeting::*;
pub use position::*;
pub use run_ends::*;
pub use run_stops::*;
pub use runs::*;
pub use scope::*;
pub use unrouted::*;
