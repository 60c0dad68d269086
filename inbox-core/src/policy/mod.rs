//! Numbers that decide: how a failed delivery is tried again, and how much runs at once.

mod backoff;
pub(crate) mod limits;
pub(crate) mod retry;

pub use limits::{Batching, Concurrency, Rate};
pub use retry::{Backoff, Delays, Jitter, RetryPolicy};
