use std::collections::BTreeMap;

use inbox_core::store::{DeliveryRecord, DeliveryState};

use super::evidence::Evidence;
use super::{Found, Rule};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Found) {
    let mut accepted = BTreeMap::new();
    for acceptance in &evidence.accepted {
        let (message_id, at) = (acceptance.message_id, acceptance.at);
        if let Some(before) = accepted.insert(message_id, at) {
            let sentence =
                format!("message {message_id} was accepted as new twice: at {before} and at {at}");
            found.add(Rule::NothingDoubled, sentence);
        }
    }
    let mut stored = BTreeMap::new();
    for delivery in evidence.stored {
        let key = (delivery.message_id, delivery.handler_key.as_deref());
        if let Some(before) = stored.insert(key, delivery.state) {
            let sentence = format!(
                "{} is in the store twice: {before} and {}",
                named(delivery),
                delivery.state
            );
            found.add(Rule::NothingDoubled, sentence);
        }
    }
    for delivery in evidence.stored {
        let Some(settled_at) = delivery.settled_at else { continue };
        if delivery.state != DeliveryState::Completed {
            continue;
        }
        // A process that stood still may begin a run after its lease. The token fences what the run
        // writes, and nothing but the lease could keep it from beginning: the summary counts such runs.
        let in_time = evidence.runs_of(delivery).iter().filter(|run| run.started_in_time());
        for run in in_time.filter(|run| run.started_at > settled_at) {
            let sentence = format!(
                "{} was completed at {settled_at} and run again after that: {run}",
                named(delivery)
            );
            found.add(Rule::NothingDoubled, sentence);
        }
    }
}

/// A delivery, for a sentence.
pub(super) fn named(delivery: &DeliveryRecord) -> String {
    let DeliveryRecord { message_id, handler_key, contract, .. } = delivery;
    match handler_key {
        Some(key) => format!("the delivery of message {message_id} (`{contract}`) for `{key}`"),
        None => format!("the delivery of message {message_id} (`{contract}`) for no handler yet"),
    }
}
