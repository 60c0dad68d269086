use inbox_core::store::{DeliveryRecord, DeliveryState};
use inbox_testing::ledger::{Expectations, Rule};

use crate::story::{at, broken, pending, stored};

fn check(delivery: DeliveryRecord) -> Vec<Rule> {
    broken([], &[delivery], &Expectations::new())
}

#[test]
fn a_pending_delivery_can_be_leased() {
    assert_eq!(check(pending(1)), []);
}

#[test]
fn a_waiting_delivery_waits_for_a_moment_or_a_handler() {
    let waiting = || stored(1, DeliveryState::Waiting);
    assert_eq!(check(DeliveryRecord { due_at: Some(at(1)), ..waiting() }), []);
    assert_eq!(check(DeliveryRecord { handler_key: None, ..waiting() }), []);
    for behind in ["lane", "limit"] {
        assert_eq!(check(DeliveryRecord { reason: Some(behind.to_owned()), ..waiting() }), []);
    }
    assert_eq!(check(waiting()), [Rule::Reachable]);
}

#[test]
fn a_lease_has_an_end() {
    let processing = || stored(1, DeliveryState::Processing);
    assert_eq!(check(DeliveryRecord { lease_expires_at: Some(at(1)), ..processing() }), []);
    assert_eq!(check(processing()), [Rule::Reachable]);
}

#[test]
fn after_everything_was_settled_nothing_is_left() {
    let settled = Expectations::new().settled();
    for state in DeliveryState::ALL {
        let moment = Some(at(1));
        let record =
            DeliveryRecord { due_at: moment, lease_expires_at: moment, ..stored(1, state) };
        let found = broken([], &[record], &settled).contains(&Rule::Settled);
        assert_eq!(found, !state.is_terminal(), "{state}");
    }
}
