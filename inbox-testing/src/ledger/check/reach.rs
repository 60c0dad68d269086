use inbox_core::store::{DeliveryRecord, DeliveryState};

use super::doubled::named;
use super::evidence::Evidence;
use super::{Found, Rule};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Found) {
    for delivery in evidence.stored {
        let DeliveryRecord { state, attempts, reason, .. } = delivery;
        if let Some(lacks) = unreachable(delivery) {
            let sentence = format!("{} is {state} {lacks}: nobody will find it", named(delivery));
            found.add(Rule::Reachable, sentence);
        }
        if evidence.expectations.is_settled() && !state.is_terminal() {
            let reason = reason.as_deref().unwrap_or("none given");
            let sentence = format!(
                "{} is still {state} after {attempts} attempts (reason: {reason})",
                named(delivery)
            );
            found.add(Rule::Settled, sentence);
        }
    }
}

/// What keeps every actor from finding the delivery, if something does.
fn unreachable(delivery: &DeliveryRecord) -> Option<&'static str> {
    match delivery.state {
        DeliveryState::Waiting => {
            // Whoever ends what it waits behind finds it.
            let is_behind = matches!(delivery.reason.as_deref(), Some("lane" | "limit"));
            let found = delivery.due_at.is_some() || delivery.handler_key.is_none() || is_behind;
            (!found).then_some("for no moment and for no handler")
        }
        DeliveryState::Processing => {
            delivery.lease_expires_at.is_none().then_some("under a lease without an end")
        }
        DeliveryState::Pending => None,
        other => (!other.is_terminal()).then_some("where the checker knows no way out"),
    }
}
