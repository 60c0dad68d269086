use std::collections::VecDeque;
use std::sync::Arc;

use inbox_core::Timestamp;
use inbox_core::dispatch::{Delivery, HeldLease, Pipeline};
use inbox_core::message::MessageId;
use inbox_core::store::Lease;

use crate::handlers::Handlers;

/// One leased delivery.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) lease: HeldLease,
    pub(super) leased_at: Timestamp,
    pub(super) handler_key: String,
    pub(super) message_id: MessageId,
    pub(super) suspect: bool,
    /// The delivery, or why its row cannot be read.
    pub(super) content: Result<Delivery, String>,
    /// Whether the codec has read the payload.
    pub(super) is_plain: bool,
}

impl Work {
    /// Which attempt this is; a row that cannot be read has none to lose.
    pub(super) fn attempt(&self) -> u32 {
        self.content.as_ref().map_or(1, |delivery| delivery.attempt)
    }
}

/// What one call of a handler is given.
pub(super) type Share = (Arc<Pipeline>, Vec<Work>);

/// Cuts leases into what each call of a handler is given: one delivery, or up to a batch of them.
///
/// A suspect is first and alone. If it kills this process it is accused for itself, and if another
/// one does, the suspect has been settled.
pub(super) fn shares(handlers: &Handlers, mut leases: Vec<Lease>) -> VecDeque<Share> {
    let mut shares: VecDeque<Share> = VecDeque::new();
    leases.sort_by_key(|lease| !lease.suspect);
    for lease in leases {
        // Only keys of this program's handlers were asked for.
        let Some(pipeline) = handlers.get(&lease.handler_key) else { continue };
        let size = pipeline.descriptor().options.batch.map_or(1, |batch| batch.size.get() as usize);
        for work in works(lease) {
            let fits = shares.back_mut().filter(|(last, works)| {
                Arc::ptr_eq(last, pipeline)
                    && works.len() < size
                    && works.iter().all(|other| {
                        other.handler_key == work.handler_key && !other.suspect && !work.suspect
                    })
            });
            match fits {
                Some((_, works)) => works.push(work),
                None => shares.push_back((Arc::clone(pipeline), vec![work])),
            }
        }
    }
    shares
}

fn works(lease: Lease) -> impl Iterator<Item = Work> {
    let held = HeldLease::from(&lease);
    let Lease { leased_at, handler_key, suspect, deliveries, unreadable, .. } = lease;
    let readable = deliveries.into_iter().map(|delivery| (delivery.message.id, Ok(delivery)));
    let damaged = unreadable.into_iter().map(|row| (row.message_id, Err(row.reason)));
    readable.chain(damaged).map(move |(message_id, content)| Work {
        lease: held.clone(),
        leased_at,
        handler_key: handler_key.clone(),
        message_id,
        suspect,
        content,
        is_plain: false,
    })
}
