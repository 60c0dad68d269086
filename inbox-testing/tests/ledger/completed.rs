use inbox_core::store::{DeliveryRecord, DeliveryState};
use inbox_testing::ledger::{Entry, Expectations, Rule, SeenLease};

use crate::story::{at, broken, completed, finished, lease, started, stored, success};

fn check(entries: impl IntoIterator<Item = Entry>) -> Vec<Rule> {
    broken(entries, &[completed(1, 9)], &Expectations::new())
}

#[test]
fn a_completed_delivery_has_a_success() {
    assert_eq!(check(success(1, 1, 1, 2)), []);
    assert_eq!(check([]), [Rule::CompletedBySuccess]);
}

#[test]
fn a_failure_completes_nothing() {
    let lease = lease(1, 20);
    let entries = [started(1, 1, lease, 1), finished(1, 1, lease, 2, false)];
    assert_eq!(check(entries), [Rule::CompletedBySuccess]);
}

#[test]
fn a_success_after_the_lease_counts_unless_another_worker_had_the_delivery_by_then() {
    let late = |until| {
        let lease = lease(1, until);
        [started(1, 1, lease, 1), finished(1, 1, lease, 5, true)]
    };
    assert_eq!(check(late(6)), []);
    assert_eq!(check(late(5)), [], "nobody had reclaimed it");
    let other = [started(1, 1, lease(2, 20), 5), finished(1, 1, lease(2, 20), 8, false)];
    assert_eq!(check([late(5), other].concat()), [Rule::CompletedBySuccess]);
    let lease = lease(1, 5);
    let after = [started(1, 1, lease, 1), finished(1, 1, lease, 10, true)];
    assert_eq!(check(after), [Rule::CompletedBySuccess], "it was completed at 9");
}

#[test]
fn a_success_within_a_renewed_lease_counts() {
    let entries = [started(1, 1, lease(1, 3), 1), finished(1, 1, lease(1, 13), 5, true)];
    assert_eq!(check(entries), []);
}

#[test]
fn a_success_while_the_lease_is_being_renewed_counts_whoever_came_after_it() {
    let renewing = |until| SeenLease { renewing_until: Some(at(until)), ..lease(1, 3) };
    let other = [started(1, 1, lease(2, 20), 6), finished(1, 1, lease(2, 20), 8, false)];
    let entries = |until| {
        let first = [started(1, 1, lease(1, 3), 1), finished(1, 1, renewing(until), 5, true)];
        [first, other.clone()].concat()
    };
    assert!(!check(entries(13)).contains(&Rule::CompletedBySuccess));
    assert!(check(entries(4)).contains(&Rule::CompletedBySuccess));
}

#[test]
fn a_run_that_never_ended_completes_nothing() {
    assert_eq!(check([started(1, 1, lease(1, 20), 1)]), [Rule::CompletedBySuccess]);
}

#[test]
fn a_success_by_hand_completes_nothing() {
    let entries = [started(1, 1, None, 1), finished(1, 1, None, 2, true)];
    assert_eq!(check(entries), [Rule::CompletedBySuccess]);
}

#[test]
fn a_success_whose_start_is_torn_counts() {
    assert_eq!(check([finished(1, 1, lease(1, 20), 2, true)]), []);
}

#[test]
fn other_ends_need_no_success() {
    for state in [DeliveryState::Dead, DeliveryState::Expired, DeliveryState::Discarded] {
        let record = DeliveryRecord { settled_at: Some(at(9)), ..stored(1, state) };
        assert_eq!(broken([], &[record], &Expectations::new()), [], "{state}");
    }
}

#[test]
fn a_completed_delivery_says_when() {
    let record = stored(1, DeliveryState::Completed);
    assert_eq!(
        broken(success(1, 1, 1, 2), &[record], &Expectations::new()),
        [Rule::CompletedBySuccess]
    );
}
