use inbox_testing::ledger::{Expectations, History, Violations};

use crate::story::{accepted, completed, finished, lease, pending, started};

fn violations(history: &History) -> Violations {
    history.check(&[], &Expectations::new()).unwrap_err()
}

#[test]
fn a_violation_names_the_message_the_handler_the_leases_and_the_times() {
    let (first, second) = (lease(0xA, 20), lease(0xB, 30));
    let history: History =
        [started(1, 1, first, 1), started(1, 1, second, 4), finished(1, 1, first, 5, true)]
            .into_iter()
            .collect();
    let violations = history.check(&[pending(1)], &Expectations::new()).unwrap_err();
    assert_eq!(
        violations.to_string(),
        "1 violation in a history of 0 accepted, 2 attempts, 2 runs (1 unfinished, 0 lost their \
         lease, 0 began late), 0 completed, 0 dead, 1 pending, 0 torn lines\n\
         - OneAttemptAtATime: message 00000000-0000-0000-0000-000000000001 was run by \
         `charge-card` under two leases at once: attempt 1 under lease \
         00000000-0000-0000-0000-00000000000a in process 7 (started 1970-01-01T00:00:01Z, \
         succeeded 1970-01-01T00:00:05Z, lease until 1970-01-01T00:00:20Z); attempt 1 under lease \
         00000000-0000-0000-0000-00000000000b in process 7 (started 1970-01-01T00:00:04Z, never \
         ended, lease until 1970-01-01T00:00:30Z)"
    );
}

#[test]
fn twenty_violations_are_shown_and_the_others_counted() {
    let history: History = (1..=20).map(|n| accepted(n, 0)).collect();
    let shown = violations(&history).to_string();
    assert_eq!(shown.lines().count(), 21, "{shown}");

    let history: History = (1..=25).map(|n| accepted(n, 0)).collect();
    let violations = violations(&history);
    assert_eq!(violations.all().len(), 25);
    assert_eq!(violations.summary().accepted, 25);
    let shown = violations.to_string();
    assert!(shown.starts_with("25 violations in a history of 25 accepted"), "{shown}");
    assert!(shown.ends_with("\nand 5 more"), "{shown}");
    assert_eq!(shown.lines().count(), 22, "{shown}");
    // What a test shows that unwraps them.
    assert_eq!(format!("{violations:?}"), shown);
}

#[test]
fn the_summary_counts_attempts_runs_and_lost_leases() {
    // The first ends in the moment its lease does.
    let (short, long, over) = (lease(1, 4), lease(2, 30), lease(3, 4));
    let history: History = [
        started(1, 1, short, 1),
        finished(1, 1, short, 4, false),
        started(1, 1, long, 5),
        finished(1, 1, long, 6, false),
        started(1, 1, long, 6),
        finished(1, 1, long, 7, true),
        started(1, 1, None, 7),
        started(1, 1, over, 9),
    ]
    .into_iter()
    .collect();
    let summary = history.check(&[completed(1, 8)], &Expectations::new()).unwrap();
    assert_eq!((summary.attempts, summary.runs), (3, 4));
    assert_eq!((summary.lost_leases, summary.unfinished), (1, 1));
    assert_eq!(summary.late_starts, 1);
    assert_eq!((summary.completed, summary.pending), (1, 0));
}
