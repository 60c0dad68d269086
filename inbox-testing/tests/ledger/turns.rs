use inbox_testing::ledger::{Entry, Expectations, Rule, SeenLease};

use crate::story::{HANDLER, at, broken, finished, id, lease, pending, started, success};

fn check(runs: Vec<Entry>, expectations: &Expectations) -> Vec<Rule> {
    broken(runs, &[pending(1), pending(2), pending(3)], expectations)
}

fn in_turn() -> Expectations {
    Expectations::new().in_turn(HANDLER, "account-1", [1, 2, 3].map(id))
}

fn one_at_a_time() -> Expectations {
    Expectations::new().one_at_a_time(HANDLER, "merchant-1", [1, 2].map(id))
}

#[test]
fn messages_in_their_turn_are_fine_without_a_receipt() {
    let runs = [success(1, 1, 2, 3), success(2, 2, 3, 4), success(3, 3, 4, 5)].concat();
    assert_eq!(check(runs, &in_turn()), []);
}

#[test]
fn one_that_begins_before_the_one_in_front_succeeded_is_found_whatever_becomes_of_it() {
    let runs = [success(1, 1, 2, 4), success(2, 2, 3, 5)].concat();
    assert_eq!(check(runs, &in_turn()), [Rule::InOrder, Rule::InOrder]);
    let runs = [success(2, 2, 2, 3), success(1, 1, 3, 4)].concat();
    assert_eq!(check(runs, &in_turn()), [Rule::InOrder]);
    let failed = [started(2, 1, lease(2, 9), 1), finished(2, 1, lease(2, 9), 2, false)];
    let runs = [failed, success(1, 1, 3, 4)].concat();
    assert_eq!(check(runs, &in_turn()), [Rule::InOrder]);
}

#[test]
fn one_that_begins_while_the_one_in_front_is_retried_is_found() {
    let failed = [started(1, 1, lease(1, 9), 1), finished(1, 1, lease(1, 9), 2, false)];
    let runs = [failed, success(2, 2, 3, 4), success(1, 3, 5, 6)].concat();
    assert_eq!(check(runs, &in_turn()), [Rule::InOrder]);
}

#[test]
fn one_of_which_nothing_is_known_hides_nobody_behind_it() {
    let runs = [success(3, 3, 2, 3), success(1, 1, 4, 5)].concat();
    assert_eq!(check(runs, &in_turn()), [Rule::InOrder]);
}

#[test]
fn a_worker_that_goes_on_without_its_lease_disturbs_no_turn() {
    let lost = [started(1, 1, lease(1, 2), 1), finished(1, 1, lease(1, 2), 9, true)];
    let runs = [lost, success(1, 2, 3, 4), success(2, 3, 5, 6)].concat();
    assert_eq!(check(runs, &in_turn()), []);
}

#[test]
fn a_worker_that_stood_still_and_may_have_its_lease_disturbs_no_turn_either() {
    let renewing = SeenLease { renewing_until: Some(at(20)), ..lease(1, 2) };
    let stalled = [started(1, 1, lease(1, 2), 1), finished(1, 1, renewing, 9, true)];
    let runs = [stalled, success(1, 2, 3, 4), success(2, 3, 5, 6)].concat();
    assert!(!check(runs, &in_turn()).contains(&Rule::InOrder));
}

#[test]
fn two_at_once_are_found_where_one_is_the_limit() {
    let runs = [success(1, 1, 2, 4), success(2, 2, 3, 5)].concat();
    assert_eq!(check(runs, &one_at_a_time()), [Rule::WithinLimits]);
    let runs = [success(1, 1, 2, 4), success(3, 2, 3, 5)].concat();
    assert_eq!(check(runs, &one_at_a_time()), [], "another limit");
    let runs = [success(2, 2, 2, 3), success(1, 1, 3, 4)].concat();
    assert_eq!(check(runs, &one_at_a_time()), [], "in any order");
}

#[test]
fn a_worker_that_goes_on_without_its_lease_takes_no_room() {
    let lost = [started(1, 1, lease(1, 2), 1), finished(1, 1, lease(1, 2), 9, true)];
    let runs = [lost, success(2, 2, 3, 4)].concat();
    assert_eq!(check(runs, &one_at_a_time()), []);
}
