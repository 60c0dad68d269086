use inbox_core::store::{DeliveryRecord, DeliveryState};

use super::super::run::Run;
use super::doubled::named;
use super::evidence::Evidence;
use super::{Found, Rule};

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Found) {
    let completed =
        evidence.stored.iter().filter(|delivery| delivery.state == DeliveryState::Completed);
    for delivery in completed {
        let DeliveryRecord { settled_at: Some(settled_at), .. } = delivery else {
            let sentence =
                format!("{} is completed, but the store knows not when", named(delivery));
            found.add(Rule::CompletedBySuccess, sentence);
            continue;
        };
        let runs = evidence.runs_of(delivery);
        // A lease that has expired settles what it holds until someone has reclaimed it: then another one runs it.
        let last_ended_well =
            runs.last().and_then(|run| run.end).is_some_and(|end| end.ok && end.at <= *settled_at);
        if last_ended_well || runs.iter().any(|run| run.succeeded_at().is_some()) {
            continue;
        }
        let what = format!("{} was completed at {settled_at}", named(delivery));
        let sentence = match runs.last() {
            None => format!("{what}, but no handler ran under a lease"),
            Some(last) => format!(
                "{what}, but none of its {} runs succeeded while its lease held, such as {}",
                runs.len(),
                runs.iter().rfind(|run| ended_well(run)).unwrap_or(last)
            ),
        };
        found.add(Rule::CompletedBySuccess, sentence);
    }
}

fn ended_well(run: &Run<'_>) -> bool {
    run.end.is_some_and(|end| end.ok)
}
