use std::collections::VecDeque;
use std::sync::Arc;

use inbox_core::dispatch::{Delivery, HeldLease, Pipeline};
use inbox_core::message::MessageId;
use inbox_core::store::Lease;
use inbox_core::{Clock, Timestamp};
use tokio::time::Instant;

use crate::handlers::Handlers;

/// One leased delivery.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) lease: HeldLease,
    leased_at: Timestamp,
    /// When the lease was asked for, by this process's clock: it was given no earlier.
    asked: Instant,
    pub(crate) handler_key: Arc<str>,
    pub(crate) message_id: MessageId,
    pub(crate) suspect: bool,
    /// The delivery, or why its row cannot be read.
    pub(crate) content: Result<Delivery, String>,
    /// Whether the codec has read the payload.
    pub(crate) is_plain: bool,
}

impl Work {
    /// Which attempt this is; a row that cannot be read has none to lose.
    pub(crate) fn attempt(&self) -> u32 {
        self.content.as_ref().map_or(1, |delivery| delivery.attempt)
    }

    /// The store's present, as far as can be told without asking it.
    pub(crate) fn now(&self, clock: &dyn Clock) -> Timestamp {
        clock.now().or_else(|| self.leased_at.saturating_add(self.asked.elapsed()))
    }

    /// The bytes it keeps in memory, more or less.
    pub(crate) fn weight(&self) -> usize {
        let payload =
            self.content.as_ref().map_or(0, |delivery| delivery.message.payload.as_bytes().len());
        size_of::<Self>() + payload
    }

    /// Everything that a lease holds, which was asked for at `asked`.
    pub(crate) fn of(lease: Lease, asked: Instant) -> impl Iterator<Item = Self> {
        let held = HeldLease::from(&lease);
        let Lease { leased_at, handler_key, suspect, deliveries, unreadable, .. } = lease;
        let handler_key: Arc<str> = handler_key.into();
        let readable = deliveries.into_iter().map(|delivery| (delivery.message.id, Ok(delivery)));
        let damaged = unreadable.into_iter().map(|row| (row.message_id, Err(row.reason)));
        readable.chain(damaged).map(move |(message_id, content)| Self {
            lease: held.clone(),
            leased_at,
            asked,
            handler_key: Arc::clone(&handler_key),
            message_id,
            suspect,
            content,
            is_plain: false,
        })
    }

    /// Whether one call of a handler may be given both: a suspect is alone, so that it is accused for
    /// itself if it kills this process.
    pub(crate) fn goes_with(&self, other: &Self) -> bool {
        self.handler_key == other.handler_key && !self.suspect && !other.suspect
    }
}

/// What one call of a handler is given.
pub(crate) type Share = (Arc<Pipeline>, Vec<Work>);

/// How many deliveries one call of this handler takes.
pub(crate) fn batch_size(pipeline: &Pipeline) -> usize {
    pipeline.descriptor().options.batch.map_or(1, |batch| batch.size.get() as usize)
}

/// Cuts leases into what each call of a handler is given: one delivery, or up to a batch of them.
///
/// A suspect is first and alone. If it kills this process it is accused for itself, and if another
/// one does, the suspect has been settled.
pub(crate) fn shares(
    handlers: &Handlers,
    mut leases: Vec<Lease>,
    asked: Instant,
) -> VecDeque<Share> {
    let mut shares: VecDeque<Share> = VecDeque::new();
    leases.sort_by_key(|lease| !lease.suspect);
    for lease in leases {
        // Only keys of this program's handlers were asked for.
        let Some(pipeline) = handlers.get(&lease.handler_key) else { continue };
        let size = batch_size(pipeline);
        for work in Work::of(lease, asked) {
            let fits = shares.back_mut().filter(|(last, works)| {
                Arc::ptr_eq(last, pipeline)
                    && works.len() < size
                    && works.iter().all(|other| other.goes_with(&work))
            });
            match fits {
                Some((_, works)) => works.push(work),
                None => shares.push_back((Arc::clone(pipeline), vec![work])),
            }
        }
    }
    shares
}
