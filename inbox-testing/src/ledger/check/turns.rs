use inbox_core::Timestamp;

use super::super::expectations::Group;
use super::super::run::Run;
use super::evidence::Evidence;
use super::overlap::overlaps;
use super::{Found, Rule};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Found) {
    for group in evidence.expectations.alone() {
        one_at_a_time(evidence, group, Rule::WithinLimits, found);
    }
    for group in evidence.expectations.turns() {
        one_at_a_time(evidence, group, Rule::InOrder, found);
        in_turn(evidence, group, found);
    }
}

fn one_at_a_time(evidence: &Evidence<'_>, group: &Group, rule: Rule, found: &mut Found) {
    let Group { handler_key, name, messages } = group;
    let of = |id| evidence.runs.get(&(id, handler_key.as_str())).into_iter().flatten();
    let mut runs: Vec<_> = messages.iter().flat_map(|id| of(*id)).collect();
    runs.sort_by_key(|run| run.started_at);
    for (earlier, later) in overlaps(runs, |a, b| a.message_id != b.message_id) {
        let sentence = format!(
            "`{handler_key}` ran two messages of `{name}` at once: message {}, {earlier}; message {}, \
             {later}",
            earlier.message_id, later.message_id
        );
        found.add(rule, sentence);
    }
}

/// Whatever the state of its lease, a run that began had been leased: so all in front of it were over.
/// Those that never succeeded, being dead or cancelled, hold up nobody here.
fn in_turn(evidence: &Evidence<'_>, group: &Group, found: &mut Found) {
    let Group { handler_key, name, messages } = group;
    let mut last: Option<(Timestamp, &Run<'_>)> = None;
    for id in messages {
        let Some(runs) = evidence.runs.get(&(*id, handler_key.as_str())) else { continue };
        if let (Some(first), Some((succeeded_at, before))) = (runs.first(), last)
            && first.started_at < succeeded_at
        {
            let sentence = format!(
                "`{handler_key}` began message {id} of `{name}` before its turn: {first}; message {} in \
                 front of it, {before}",
                before.message_id
            );
            found.add(Rule::InOrder, sentence);
        }
        // The first to succeed, which need not be the first to begin: a worker that stood still goes on late.
        let succeeded = runs.iter().filter_map(|run| Some((run.succeeded_at()?, run)));
        let success = succeeded.min_by_key(|(at, _)| *at);
        last = last.into_iter().chain(success).max_by_key(|(at, _)| *at);
    }
}
