//! Numbers that decide: how a failed delivery is tried again, and how much runs at once.

mod backoff;
pub(crate) mod limits;
mod on_dead;
mod options;
pub(crate) mod retry;

pub use limits::{Batching, Concurrency, Rate};
pub use on_dead::OnDead;
pub use options::HandlerOptions;
pub use retry::{Backoff, Delays, Jitter, RetryPolicy};
