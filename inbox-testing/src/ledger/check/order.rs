use std::collections::{BTreeMap, HashMap};

use inbox_core::Timestamp;
use inbox_core::message::MessageId;

use super::super::run::Run;
use super::evidence::Evidence;
use super::overlap::overlaps;
use super::{Found, Rule};

/// A handler key and an ordering key, within which messages are handled one after the other.
type Lane<'a> = (&'a str, &'a str);

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Found) {
    if !evidence.expectations.is_ordered() {
        return;
    }
    let accepted: HashMap<_, _> = evidence
        .accepted
        .iter()
        .filter_map(|accepted| Some((accepted.message_id, (accepted.ordering_key?, accepted.at))))
        .collect();
    let mut lanes: BTreeMap<Lane<'_>, Vec<(Timestamp, &Run<'_>)>> = BTreeMap::new();
    for ((message_id, handler_key), runs) in &evidence.runs {
        if let Some((ordering_key, accepted_at)) = accepted.get(message_id) {
            let lane = lanes.entry((handler_key, ordering_key)).or_default();
            lane.extend(runs.iter().map(|run| (*accepted_at, run)));
        }
    }
    for (lane, mut runs) in lanes {
        runs.sort_by_key(|(_, run)| run.started_at);
        one_at_a_time(lane, &runs, found);
        if !evidence.expectations.has_operator_retries() {
            in_order(lane, &runs, found);
        }
    }
}

fn one_at_a_time(
    (handler_key, ordering_key): Lane<'_>,
    runs: &[(Timestamp, &Run<'_>)],
    found: &mut Found,
) {
    let runs = runs.iter().map(|(_, run)| *run);
    for (earlier, later) in overlaps(runs, |a, b| a.message_id != b.message_id) {
        let sentence = format!(
            "`{handler_key}` ran two messages of ordering key `{ordering_key}` at once: message {}, \
             {earlier}; message {}, {later}",
            earlier.message_id, later.message_id
        );
        found.add(Rule::InOrder, sentence);
    }
}

/// Messages accepted at the same moment may succeed in any order.
fn in_order(
    (handler_key, ordering_key): Lane<'_>,
    runs: &[(Timestamp, &Run<'_>)],
    found: &mut Found,
) {
    let mut firsts: BTreeMap<(Timestamp, MessageId), Timestamp> = BTreeMap::new();
    for (accepted_at, run) in runs {
        if let Some(at) = run.succeeded_at() {
            let first = firsts.entry((*accepted_at, run.message_id)).or_insert(at);
            *first = at.min(*first);
        }
    }
    let firsts: Vec<_> =
        firsts.into_iter().map(|((accepted, id), at)| (accepted, id, at)).collect();
    let mut last = None;
    for moment in firsts.chunk_by(|a, b| a.0 == b.0) {
        for (accepted_at, id, at) in moment {
            if let Some((before_accepted, before_id, before_at)) = last
                && *at < before_at
            {
                let sentence = format!(
                    "`{handler_key}` handled ordering key `{ordering_key}` out of order: message \
                     {id}, accepted {accepted_at}, succeeded at {at}, before message {before_id}, \
                     accepted {before_accepted}, which succeeded at {before_at}"
                );
                found.add(Rule::InOrder, sentence);
            }
        }
        last = last.into_iter().chain(moment.iter().copied()).max_by_key(|(_, _, at)| *at);
    }
}
