use inbox_testing::ledger::{Entry, Expectations, Rule};

use crate::story::{accepted, accepted_in, broken, finished, lease, pending, started, success};

/// Two messages of one lane, accepted one after the other.
fn lane(runs: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    let mut entries = vec![accepted_in("account-1", 1, 0), accepted_in("account-1", 2, 1)];
    entries.extend(runs);
    entries
}

fn check(entries: Vec<Entry>) -> Vec<Rule> {
    broken(entries, &[pending(1), pending(2)], &Expectations::new().ordered())
}

#[test]
fn a_lane_that_is_handled_in_order_is_fine() {
    assert_eq!(check(lane([success(1, 1, 2, 3), success(2, 2, 3, 4)].concat())), []);
}

#[test]
fn two_messages_of_a_lane_at_once_are_found_where_order_is_expected() {
    let entries = lane([success(1, 1, 2, 4), success(2, 2, 3, 5)].concat());
    assert_eq!(check(entries.clone()), [Rule::InOrder]);
    assert_eq!(broken(entries, &[pending(1), pending(2)], &Expectations::new()), []);
}

#[test]
fn a_message_that_overtakes_another_is_found_where_order_is_expected() {
    let entries = lane([success(2, 2, 2, 3), success(1, 1, 3, 4)].concat());
    assert_eq!(check(entries.clone()), [Rule::InOrder]);
    let retried = Expectations::new().ordered().operator_retries();
    assert_eq!(broken(entries, &[pending(1), pending(2)], &retried), []);
}

#[test]
fn a_repeated_success_is_not_out_of_order() {
    // The first success was not settled, so the message came again.
    let runs = [success(1, 1, 2, 3), success(1, 3, 3, 4), success(2, 2, 4, 5)].concat();
    assert_eq!(check(lane(runs)), []);
    let runs = [success(1, 1, 2, 3), success(2, 2, 4, 5), success(1, 3, 6, 7)].concat();
    assert_eq!(check(lane(runs)), []);
}

#[test]
fn one_message_twice_at_once_is_no_matter_of_order() {
    let runs = [success(1, 1, 2, 4), success(1, 2, 3, 5)].concat();
    assert_eq!(check(lane(runs)), [Rule::OneAttemptAtATime]);
}

#[test]
fn all_that_overtake_a_message_are_found() {
    let accepted = [1, 2, 3].map(|n| accepted_in("account-1", n, i64::try_from(n).unwrap()));
    let runs = [success(2, 2, 4, 5), success(3, 3, 5, 6), success(1, 1, 6, 7)].concat();
    let stored = [pending(1), pending(2), pending(3)];
    let rules = broken([accepted.to_vec(), runs].concat(), &stored, &Expectations::new().ordered());
    assert_eq!(rules, [Rule::InOrder, Rule::InOrder]);
}

#[test]
fn a_success_after_its_lease_comes_in_no_order() {
    let lost = lease(2, 2);
    let late = [started(2, 1, lost, 1), finished(2, 1, lost, 3, true)];
    let runs = [late, success(1, 1, 3, 4), success(2, 3, 4, 5)].concat();
    assert_eq!(check(lane(runs)), []);
}

#[test]
fn messages_accepted_at_one_moment_have_no_order() {
    let accepted = [accepted_in("account-1", 1, 0), accepted_in("account-1", 2, 0)];
    let runs = [success(2, 2, 2, 3), success(1, 1, 3, 4)].concat();
    assert_eq!(check([accepted.to_vec(), runs].concat()), []);
}

#[test]
fn the_last_of_those_accepted_before_is_compared() {
    let accepted = [
        accepted_in("account-1", 1, 0),
        accepted_in("account-1", 2, 0),
        accepted_in("account-1", 3, 1),
    ];
    let runs = [success(2, 2, 2, 3), success(3, 3, 3, 4), success(1, 1, 4, 5)].concat();
    let stored = [pending(1), pending(2), pending(3)];
    let entries = [accepted.to_vec(), runs].concat();
    assert_eq!(broken(entries, &stored, &Expectations::new().ordered()), [Rule::InOrder]);
}

#[test]
fn other_lanes_and_messages_without_one_are_free() {
    let accepted = [accepted_in("account-1", 1, 0), accepted_in("account-2", 2, 1), accepted(3, 2)];
    let runs = [success(3, 3, 2, 3), success(2, 2, 2, 4), success(1, 1, 2, 5)].concat();
    let stored = [pending(1), pending(2), pending(3)];
    let entries = [accepted.to_vec(), runs].concat();
    assert_eq!(broken(entries, &stored, &Expectations::new().ordered()), []);
}
