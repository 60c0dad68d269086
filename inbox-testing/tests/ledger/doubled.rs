use inbox_core::store::{DeliveryRecord, DeliveryState};
use inbox_testing::ledger::{Expectations, Rule};

use crate::story::{accepted, at, broken, completed, lease, pending, started, stored, success};

#[test]
fn deliveries_of_one_message_for_several_handlers_are_no_doubles() {
    let audit = DeliveryRecord { handler_key: Some("audit".to_owned()), ..pending(1) };
    let stored = [pending(1), audit, pending(2)];
    assert_eq!(broken([accepted(1, 0)], &stored, &Expectations::new()), []);
}

#[test]
fn a_delivery_that_is_stored_twice_is_doubled() {
    let stored = [pending(1), pending(2), stored(1, DeliveryState::Dead)];
    assert_eq!(broken([], &stored, &Expectations::new()), [Rule::NothingDoubled]);
}

#[test]
fn a_message_that_was_new_twice_is_doubled() {
    let entries = [accepted(1, 0), accepted(1, 5)];
    assert_eq!(broken(entries, &[pending(1)], &Expectations::new()), [Rule::NothingDoubled]);
}

#[test]
fn a_run_after_completion_is_doubled() {
    let again = |when| [success(1, 1, 1, 2).to_vec(), success(1, 2, when, 9).to_vec()].concat();
    let broken = |when| broken(again(when), &[completed(1, 4)], &Expectations::new());
    assert_eq!(broken(5), [Rule::NothingDoubled]);
    assert_eq!(broken(4), []);
    // Its first success was never written down; the second one was.
    assert_eq!(broken(3), []);
}

#[test]
fn a_run_that_a_stalled_process_begins_after_its_lease_is_no_double() {
    let late = |lease| [success(1, 1, 1, 2).to_vec(), vec![started(1, 1, lease, 8)]].concat();
    let broken = |lease| broken(late(lease), &[completed(1, 4)], &Expectations::new());
    assert_eq!(broken(lease(9, 3)), []);
    assert_eq!(broken(lease(9, 20)), [Rule::NothingDoubled]);
}

#[test]
fn a_run_by_hand_after_completion_is_nobodys_double() {
    let entries = [success(1, 1, 1, 2).to_vec(), vec![started(1, 1, None, 8)]].concat();
    assert_eq!(broken(entries, &[completed(1, 4)], &Expectations::new()), []);
}

#[test]
fn what_was_given_up_before_may_run_again() {
    let entries = [success(1, 1, 1, 2).to_vec(), success(1, 2, 8, 9).to_vec()].concat();
    let dead = DeliveryRecord { settled_at: Some(at(4)), ..stored(1, DeliveryState::Dead) };
    assert_eq!(broken(entries, &[dead], &Expectations::new()), []);
}
