use std::pin::Pin;

use super::ScheduleError;
use crate::Now;
use crate::message::Envelope;
use crate::store::Writer;

/// Takes a great many messages in one go, where a store has a faster way for that.
pub trait BulkWriter: Writer {
    /// *nothing → ready or waiting*. Stores what the iterator gives as [`accept`](Writer::accept)
    /// does, holding a bounded part of it in memory. All are stored or, on an error, none; an error
    /// of the iterator is one, and so may be an id that is stored already.
    fn accept_bulk<'a>(
        &'a self,
        envelopes: Envelopes<'a>,
        now: Now,
    ) -> Pin<Box<dyn Future<Output = Result<BulkReceipt, ScheduleError>> + Send + 'a>>;
}

/// Messages on their way into a store, made while they are asked for.
pub type Envelopes<'a> = Box<dyn Iterator<Item = Result<Envelope, ScheduleError>> + Send + 'a>;

/// Says how many commands a store has taken responsibility for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BulkReceipt {
    /// Stored now.
    pub accepted: u64,
    /// Stored before under the same idempotency key, now or earlier; the first stands.
    pub already_accepted: u64,
}
