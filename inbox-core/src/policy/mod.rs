//! Numbers that decide: how a failed delivery is tried again, and how much runs at once.

mod after_dead;
mod backoff;
pub(crate) mod limits;
mod options;
pub(crate) mod retry;

pub use after_dead::AfterDead;
pub use limits::{Batching, Concurrency, Rate};
pub use options::HandlerOptions;
pub use retry::{Backoff, Delays, Jitter, RetryPolicy};
