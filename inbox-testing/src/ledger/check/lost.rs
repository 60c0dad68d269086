use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{Acceptance, Evidence};
use super::{Found, Rule};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Found) {
    let mut stored: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for delivery in evidence.stored {
        stored.entry(delivery.message_id).or_default().insert(delivery.handler_key.as_deref());
    }
    for accepted in &evidence.accepted {
        let Acceptance { message_id, contract, at, .. } = accepted;
        let Some(keys) = stored.get(message_id) else {
            let sentence = format!(
                "message {message_id} (`{contract}`) was accepted at {at} and has no delivery in \
                 the store"
            );
            found.add(Rule::NothingLost, sentence);
            continue;
        };
        if let Some(expected) = evidence.expectations.handler_keys_of(contract) {
            routed(accepted, keys, expected, found);
        }
    }
    // Whoever ran it had leased it, so it was there, whether or not anyone was told.
    for ((message_id, handler_key), runs) in &evidence.runs {
        let is_stored =
            stored.get(message_id).is_some_and(|keys| keys.contains(&Some(handler_key)));
        if let (false, Some(run)) = (is_stored, runs.first()) {
            let sentence = format!(
                "message {message_id} was run by `{handler_key}` and has no delivery for it in \
                 the store: {run}"
            );
            found.add(Rule::NothingLost, sentence);
        }
    }
}

fn routed(
    accepted: &Acceptance<'_>,
    keys: &BTreeSet<Option<&str>>,
    expected: &BTreeSet<String>,
    found: &mut Found,
) {
    let Acceptance { message_id, contract, at, .. } = accepted;
    for key in expected.iter().filter(|key| !keys.contains(&Some(key.as_str()))) {
        let sentence = format!(
            "message {message_id} (`{contract}`) was accepted at {at} and has no delivery for \
             `{key}` in the store"
        );
        found.add(Rule::NothingLost, sentence);
    }
    for key in keys.iter().filter(|key| !key.is_some_and(|key| expected.contains(key))) {
        let sentence = match key {
            Some(key) => format!(
                "message {message_id} (`{contract}`) has a delivery for `{key}`, which should \
                 have none"
            ),
            None => format!("message {message_id} (`{contract}`) waits for a first handler"),
        };
        found.add(Rule::NothingMisrouted, sentence);
    }
}
