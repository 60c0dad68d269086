use std::sync::Arc;

use inbox_core::message::Envelope;
use inbox_core::schedule::{OnConflict, Priority, Scheduler, Start};
use inbox_core::store::{Accepted, StoredMessage};
use inbox_testing::ledger::Ledger;
use tempfile::tempdir;

use crate::bench::delivery;
use crate::story::{accepted, accepted_in, at};

#[test]
fn a_receipt_is_noted_if_it_says_that_the_command_was_new() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::open(directory.path().join("ledger")).unwrap();
    let scheduler = Scheduler::new(Arc::new(()));
    let note = |message, is: &Accepted, ordering_key| {
        let envelope = Envelope {
            message: delivery(message).message,
            start: Start::default(),
            priority: Priority::default(),
            is_encoded: true,
            on_conflict: OnConflict::default(),
        };
        ledger.accepted(&scheduler.receipt(&envelope, is).unwrap(), ordering_key);
    };
    let before = StoredMessage { message: delivery(1).message, accepted_at: at(3) };
    note(1, &Accepted::New { accepted_at: at(3) }, None);
    note(2, &Accepted::Before(Box::new(before)), None);
    note(3, &Accepted::New { accepted_at: at(4) }, Some("account-1"));

    let history = Ledger::read(ledger.path()).unwrap();
    assert_eq!(history.entries(), [accepted(1, 3), accepted_in("account-1", 3, 4)]);
}
