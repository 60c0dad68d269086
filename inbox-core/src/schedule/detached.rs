use std::sync::Arc;

use super::Scheduler;
use crate::Now;
use crate::message::Envelope;
use crate::store::{Accepted, StoreError, StoreErrorKind, StoreFuture, Writer};

/// The store of a run that no inbox began.
struct NoStore;

impl Writer for NoStore {
    fn accept(&self, _: Arc<[Envelope]>, _: Now) -> StoreFuture<'_, Vec<Accepted>> {
        let message = "this run was begun by hand and has no store to schedule into: run it through \
                       an `Inbox` or the test kit, or begin it with `Request::new(.., scheduler)`";
        Box::pin(async move { Err(StoreError::new(StoreErrorKind::Closed, message)) })
    }
}

impl Scheduler {
    /// A scheduler that accepts nothing, for runs that are begun by hand.
    #[must_use]
    pub fn detached() -> Self {
        Self::new(Arc::new(NoStore))
    }
}
