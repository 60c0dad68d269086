use std::collections::HashMap;

use inbox_core::message::MessageId;
use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken, Settle};

/// The state that each delivery is in now, of those that were settled.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(super) states: HashMap<(LeaseToken, MessageId), DeliveryState>,
    /// Whether others have their turn now, who waited behind one of them.
    pub(super) has_next: bool,
}

impl Settled {
    pub(super) fn is_any(&self, state: DeliveryState) -> bool {
        self.states.values().any(|one| *one == state)
    }

    /// The answers to `settles`, in their order. Of two for one delivery, the second finds nothing.
    pub(crate) fn answers(mut self, settles: &[Settle]) -> Vec<Result<DeliveryState, LeaseLost>> {
        let answer = |one: &Settle| {
            self.states.remove(&(one.token, one.message_id)).ok_or(LeaseLost(one.token))
        };
        settles.iter().map(answer).collect()
    }
}
