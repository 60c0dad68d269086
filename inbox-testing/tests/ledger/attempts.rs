use inbox_testing::ledger::{Entry, Expectations, Rule};

use crate::story::{broken, finished, lease, pending, started};

fn check(entries: impl IntoIterator<Item = Entry>) -> Vec<Rule> {
    broken(entries, &[pending(1), pending(2)], &Expectations::new())
}

#[test]
fn attempts_one_after_the_other_are_fine() {
    let (first, second) = (lease(1, 20), lease(2, 30));
    // The second starts in the very moment the first ends.
    assert_eq!(
        check([
            started(1, 1, first, 1),
            finished(1, 1, first, 5, false),
            started(1, 2, second, 5),
            finished(1, 2, second, 8, true),
        ]),
        []
    );
}

#[test]
fn two_leases_that_hold_at_once_are_found() {
    let (first, second) = (lease(1, 20), lease(2, 30));
    let entries = [
        started(1, 1, first, 1),
        started(1, 1, second, 4),
        finished(1, 1, first, 5, false),
        finished(1, 1, second, 8, true),
    ];
    assert_eq!(check(entries), [Rule::OneAttemptAtATime]);
}

#[test]
fn two_messages_at_once_are_fine() {
    assert_eq!(check([started(1, 1, lease(1, 20), 1), started(2, 1, lease(2, 20), 1)]), []);
}

#[test]
fn a_run_that_outlives_its_lease_leaves_the_delivery_to_the_next_one() {
    let (first, second) = (lease(1, 3), lease(2, 30));
    let entries = |second_starts| {
        [
            started(1, 1, first, 1),
            started(1, 1, second, second_starts),
            finished(1, 1, second, 8, true),
            finished(1, 1, first, 9, true),
        ]
    };
    assert_eq!(check(entries(3)), []);
    assert_eq!(check(entries(2)), [Rule::OneAttemptAtATime]);
}

#[test]
fn a_killed_run_holds_its_delivery_until_its_lease_ends() {
    let entries = |second_starts| {
        [started(1, 1, lease(1, 10), 1), started(1, 1, lease(2, 30), second_starts)]
    };
    assert_eq!(check(entries(10)), []);
    assert_eq!(check(entries(9)), [Rule::OneAttemptAtATime]);
}

#[test]
fn a_renewed_lease_holds_as_long_as_it_was_renewed() {
    let entries = [
        started(1, 1, lease(1, 3), 1),
        started(1, 1, lease(2, 30), 4),
        finished(1, 1, lease(1, 13), 5, true),
    ];
    assert_eq!(check(entries), [Rule::OneAttemptAtATime]);
}

#[test]
fn a_long_run_is_compared_with_all_that_start_during_it() {
    let entries = [
        started(1, 1, lease(1, 100), 1),
        started(1, 1, lease(2, 100), 2),
        finished(1, 1, lease(2, 100), 3, false),
        started(1, 1, lease(3, 100), 50),
        finished(1, 1, lease(1, 100), 60, true),
    ];
    assert_eq!(check(entries), [Rule::OneAttemptAtATime, Rule::OneAttemptAtATime]);
}

#[test]
fn immediate_retries_run_one_after_the_other() {
    let lease = lease(1, 20);
    assert_eq!(
        check([
            started(1, 1, lease, 1),
            finished(1, 1, lease, 2, false),
            started(1, 1, lease, 2),
            finished(1, 1, lease, 3, true),
        ]),
        []
    );
    assert_eq!(
        check([
            started(1, 1, lease, 1),
            started(1, 1, lease, 2),
            finished(1, 1, lease, 3, true),
            finished(1, 1, lease, 4, true),
        ]),
        [Rule::OneAttemptAtATime]
    );
}

#[test]
fn runs_by_hand_compete_with_nobody() {
    assert_eq!(check([started(1, 1, lease(1, 20), 1), started(1, 1, None, 2)]), []);
}

#[test]
fn an_attempt_that_was_given_back_has_the_same_number_again() {
    let entries = [
        started(1, 1, lease(1, 10), 1),
        started(1, 1, lease(2, 20), 10),
        started(1, 2, lease(3, 30), 20),
    ];
    assert_eq!(check(entries), []);
}

#[test]
fn attempts_that_count_down_are_found_unless_an_operator_retried() {
    let entries = [
        started(1, 3, lease(1, 10), 1),
        started(1, 1, lease(2, 20), 10),
        started(1, 2, lease(3, 30), 20),
    ];
    // Both are below the third.
    assert_eq!(check(entries.clone()), [Rule::AttemptsCountUp, Rule::AttemptsCountUp]);
    let retried = Expectations::new().operator_retries();
    assert_eq!(broken(entries, &[pending(1)], &retried), []);
}

#[test]
fn a_start_long_after_its_lease_says_nothing_about_numbers() {
    let entries = [
        started(1, 2, lease(2, 20), 10),
        started(1, 3, lease(3, 30), 20),
        started(1, 2, lease(1, 9), 40),
    ];
    assert_eq!(check(entries), []);
}

#[test]
fn a_start_after_its_lease_competes_with_nobody() {
    let entries = [started(1, 1, lease(2, 20), 4), started(1, 1, lease(1, 3), 5)];
    assert_eq!(check(entries), []);
}

#[test]
fn the_times_decide_and_not_the_order_of_the_lines() {
    let late_line = [started(1, 2, lease(2, 20), 10), started(1, 1, lease(1, 10), 1)];
    assert_eq!(check(late_line), []);
}
