use inbox::store::DeliveryState;

use crate::kit::{Application, Then};

/// The handler fails, and says why. Whatever it wrote by then is counted in `left`.
async fn refused(then: Then, says: &str, left: usize) {
    let application = Application::start().await;
    let id = application.schedule(1, then).await;
    let report = application.inbox.process_pending().await.unwrap();
    assert_eq!((report.retried, report.completed), (1, 0), "{then:?}: {report:?}");
    let (state, errors) = application.outcome(id).await;
    assert_eq!(state, DeliveryState::Waiting, "{then:?}");
    assert!(errors[0].contains(says), "{then:?}: {errors:?}");
    assert_eq!(application.booked().await.len(), left, "{then:?}");
    application.assert_nothing_is_open().await;
    // Its connection is as good as new.
    application.schedule(2, Then::Succeed).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
}

#[tokio::test]
async fn a_handler_that_ends_its_transaction_by_itself_is_found_out_and_not_settled() {
    for then in [Then::RollBack, Then::RollBackAndBegin] {
        refused(then, "leave `BEGIN`, `COMMIT` and `ROLLBACK` out", 0).await;
    }
    for then in [Then::Commit, Then::CommitAndBegin] {
        // What it committed, and again when it was repeated.
        refused(then, "leave `BEGIN`, `COMMIT` and `ROLLBACK` out", 2).await;
    }
}

#[tokio::test]
async fn an_error_that_is_caught_without_a_savepoint_is_the_handlers_failure() {
    refused(Then::CatchAnError, "`SAVEPOINT`", 0).await;
}

#[tokio::test]
async fn a_deferred_constraint_that_fails_in_the_end_is_the_handlers_failure() {
    let says = "the database refused to commit what the handler wrote: insert or update on table";
    refused(Then::BreakADeferredConstraint, says, 0).await;
}

#[tokio::test]
async fn an_error_that_is_undone_with_a_savepoint_is_none() {
    let application = Application::start().await;
    let id = application.schedule(1, Then::UndoAnError).await;
    assert_eq!(application.inbox.process_pending().await.unwrap().completed, 1);
    assert_eq!(application.booked().await, [1]);
    assert_eq!(application.outcome(id).await.0, DeliveryState::Completed);
}
