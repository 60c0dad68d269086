use super::super::run::Run;
use super::evidence::Evidence;
use super::overlap::overlaps;
use super::{Found, Rule};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Found) {
    for ((message_id, handler_key), runs) in &evidence.runs {
        for (earlier, later) in overlaps(runs, |_, _| true) {
            let how = match earlier.lease.token == later.lease.token {
                true => "twice at once under one lease",
                false => "under two leases at once",
            };
            let sentence = format!(
                "message {message_id} was run by `{handler_key}` {how}: {earlier}; {later}"
            );
            found.add(Rule::OneAttemptAtATime, sentence);
        }
        if !evidence.expectations.has_operator_retries() {
            counts_up(runs, found);
        }
    }
}

/// The numbers may repeat: a lease that is released, or lost for the first time, gives its attempt
/// back.
fn counts_up(runs: &[Run<'_>], found: &mut Found) {
    // A process that stood still may start a run long after its lease; that says nothing.
    let mut in_time = runs.iter().filter(|run| run.started_in_time());
    let Some(mut highest) = in_time.next() else { return };
    for run in in_time {
        if run.attempt < highest.attempt {
            let sentence = format!(
                "message {} was given back attempts of `{}` that it had used: {highest}, then {run}",
                run.message_id, run.handler_key
            );
            found.add(Rule::AttemptsCountUp, sentence);
        } else {
            highest = run;
        }
    }
}
