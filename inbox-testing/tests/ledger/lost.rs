use inbox_core::store::{DeliveryRecord, DeliveryState};
use inbox_testing::ledger::{Expectations, History, Rule};

use crate::story::{
    CONTRACT, HANDLER, accepted, at, broken, completed, lease, pending, started, stored, success,
};

fn any() -> Expectations {
    Expectations::new()
}

#[test]
fn an_accepted_message_may_be_in_any_state() {
    for state in DeliveryState::ALL {
        let due_at = Some(at(9));
        let record = DeliveryRecord {
            due_at,
            lease_expires_at: due_at,
            settled_at: due_at,
            ..stored(1, state)
        };
        let entries = [vec![accepted(1, 0)], success(1, 1, 1, 2).to_vec()].concat();
        assert_eq!(broken(entries, &[record], &any()), [], "{state}");
    }
}

#[test]
fn an_accepted_message_without_a_delivery_is_lost() {
    let entries = [accepted(1, 0), accepted(2, 0)];
    assert_eq!(broken(entries, &[pending(1)], &any()), [Rule::NothingLost]);
}

#[test]
fn a_message_whose_acceptance_nobody_was_told_may_be_there_or_not() {
    assert_eq!(broken([], &[pending(1)], &any()), []);
    assert_eq!(broken([], &[], &any()), []);
}

#[test]
fn a_delivery_that_was_run_and_is_not_in_the_store_is_lost() {
    let entries = [started(1, 1, lease(1, 9), 1)];
    assert_eq!(broken(entries.clone(), &[], &any()), [Rule::NothingLost]);
    let other = DeliveryRecord { handler_key: Some("other".to_owned()), ..pending(1) };
    assert_eq!(broken(entries, &[other], &any()), [Rule::NothingLost]);
}

#[test]
fn a_run_by_hand_needs_no_delivery() {
    assert_eq!(broken([started(1, 1, None, 1)], &[], &any()), []);
}

#[test]
fn every_expected_handler_has_a_delivery_and_no_other_has() {
    let both = any().handler_keys(CONTRACT, [HANDLER, "audit"]);
    let audit = DeliveryRecord { handler_key: Some("audit".to_owned()), ..pending(1) };
    let other = DeliveryRecord { handler_key: Some("other".to_owned()), ..pending(1) };

    let broken = |stored: &[_]| broken([accepted(1, 0)], stored, &both);
    assert_eq!(broken(&[pending(1), audit.clone()]), []);
    assert_eq!(broken(&[pending(1)]), [Rule::NothingLost]);
    assert_eq!(broken(&[pending(1), audit, other]), [Rule::NothingMisrouted]);
}

#[test]
fn a_message_that_waits_for_a_handler_lacks_those_it_should_have() {
    let unrouted = DeliveryRecord { handler_key: None, ..stored(1, DeliveryState::Waiting) };
    let expected = any().handler_keys(CONTRACT, [HANDLER]);
    let rules = broken([accepted(1, 0)], std::slice::from_ref(&unrouted), &expected);
    assert_eq!(rules, [Rule::NothingLost, Rule::NothingMisrouted]);
    // Of another contract nothing was said.
    let expected = any().handler_keys("another", [HANDLER]);
    assert_eq!(broken([accepted(1, 0)], &[unrouted], &expected), []);
}

#[test]
fn a_history_without_any_trouble_is_counted() {
    let entries = [vec![accepted(1, 0), accepted(2, 0)], success(1, 1, 1, 2).to_vec()].concat();
    let history: History = entries.into_iter().collect();
    let summary = history.check(&[completed(1, 3), pending(2)], &any()).unwrap();
    assert_eq!(
        summary.to_string(),
        "2 accepted, 1 attempts, 1 runs (0 unfinished, 0 lost their lease, 0 began late), \
         1 completed, 0 dead, 1 pending, 0 torn lines"
    );
}
