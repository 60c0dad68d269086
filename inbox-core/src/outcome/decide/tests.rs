use super::*;
use crate::contract::DecodeError;
use crate::error::Failure;
use crate::message::MessageId;
use crate::store::{StoreError, StoreErrorKind};

fn failure() -> HandlerError {
    HandlerError::Failed(Failure::new("no".to_owned()))
}

fn undecodable() -> HandlerError {
    let error = DecodeError::OtherContract { expected: "a", found: "b".to_owned() };
    HandlerError::Undecodable { message_id: MessageId::new(), error }
}

fn limits(max_attempts: u32, immediate: u32) -> RetryLimits {
    let retry = RetryPolicy { immediate, ..RetryPolicy::default() };
    let max_attempts = NonZeroU32::new(max_attempts).unwrap();
    RetryLimits { max_attempts, retry, ..RetryLimits::default() }
}

fn attempt(attempt: u32) -> Tries {
    Tries { attempt, ..Tries::default() }
}

fn settled(tries: Tries, outcome: &Outcome, limits: &RetryLimits) -> Settlement {
    match decide(tries, outcome, limits, 7) {
        Decision::Settle(settlement) => settlement,
        repeated => panic!("{repeated:?}"),
    }
}

#[test]
fn one_attempt_means_dead_on_the_first_failure() {
    let settlement = settled(attempt(1), &Outcome::Failed(failure()), &limits(1, 0));
    let Settlement::Dead { reason, error } = settlement else { panic!("{settlement:?}") };
    assert_eq!((reason, error.text.as_str()), (DeadReason::AttemptsExhausted, "no"));
}

#[test]
fn every_failure_but_the_last_is_retried_after_the_policys_delay() {
    let limits = limits(3, 0);
    for number in 1..=2 {
        let settlement = settled(attempt(number), &Outcome::Failed(failure()), &limits);
        let Settlement::Retry { after, .. } = settlement else { panic!("{settlement:?}") };
        assert_eq!(after, limits.retry.delay(number, 7));
    }
    // A count beyond the last, from a larger limit of an earlier deploy, ends it too.
    for number in [3, 4, u32::MAX] {
        let settlement = settled(attempt(number), &Outcome::Failed(failure()), &limits);
        assert!(matches!(settlement, Settlement::Dead { .. }), "{settlement:?}");
    }
}

#[test]
fn a_payload_that_cannot_be_decoded_is_dead_at_once() {
    let settlement = settled(attempt(1), &Outcome::Failed(undecodable()), &limits(9, 5));
    let Settlement::Dead { reason, error } = settlement else { panic!("{settlement:?}") };
    assert_eq!(reason, DeadReason::Undecodable);
    assert!(error.text.contains("takes contract `a`"), "{error}");
}

#[test]
fn what_a_handler_chooses_holds_whatever_the_attempt() {
    let after = Duration::from_secs(9);
    let error = ErrorReport::new("given-up", "no use");
    for (outcome, expected) in [
        (Outcome::Completed, Settlement::Done(DoneOutcome::Completed)),
        (Outcome::Expired, Settlement::Done(DoneOutcome::Expired)),
        (Outcome::cancel("unwanted"), Settlement::Done(DoneOutcome::Cancelled)),
        (Outcome::discard("gone"), Settlement::Done(DoneOutcome::Discarded)),
        (Outcome::dead_letter("no use"), Settlement::Dead { reason: DeadReason::GivenUp, error }),
        (Outcome::NotRun, Settlement::Release),
    ] {
        for number in [1, 9] {
            assert_eq!(settled(attempt(number), &outcome, &limits(1, 5)), expected);
        }
    }
    for outcome in [Outcome::retry_after(after), Outcome::snooze(after)] {
        let settlement = settled(attempt(1), &outcome, &limits(2, 5));
        assert!(matches!(settlement, Settlement::Retry { after: its, .. } if its == after));
        let settlement = settled(attempt(2), &outcome, &limits(2, 5));
        assert_eq!(settlement.state().as_str(), "dead");
    }
}

#[test]
fn a_failure_is_repeated_at_once_as_often_as_the_policy_says_unless_the_run_was_stopped() {
    let (outcome, limits) = (Outcome::Failed(failure()), limits(9, 2));
    for immediate in 0..2 {
        let tries = Tries { immediate, ..attempt(1) };
        let decision = decide(tries, &outcome, &limits, 0);
        assert_eq!(decision, Decision::Repeat(limits.retry.immediate_delay));
    }
    settled(Tries { immediate: 2, ..attempt(1) }, &outcome, &limits);
    let stopped = Tries { stopped: Some(CancelCause::Operator), ..attempt(1) };
    let settlement = settled(stopped, &outcome, &limits);
    assert!(matches!(settlement, Settlement::Retry { .. }), "{settlement:?}");
}

#[test]
fn a_run_that_a_shutdown_or_an_outage_cut_short_is_given_back_unless_it_succeeded() {
    let limits = limits(1, 5);
    for cause in [CancelCause::Shutdown, CancelCause::LeaseLost] {
        let tries = Tries { stopped: Some(cause), ..attempt(1) };
        assert_eq!(settled(tries, &Outcome::Failed(failure()), &limits), Settlement::Release);
        let completed = Settlement::Done(DoneOutcome::Completed);
        assert_eq!(settled(tries, &Outcome::Completed, &limits), completed);
    }
}

#[test]
fn a_transaction_that_cannot_be_begun_costs_no_attempt() {
    let error = StoreError::new(StoreErrorKind::Busy, "starting up");
    let outcome = Outcome::Failed(HandlerError::TransactionNotBegun(error));
    for conflicts in 0..CONFLICTS {
        let decision = decide(Tries { conflicts, ..attempt(1) }, &outcome, &limits(1, 5), 0);
        assert!(matches!(decision, Decision::BeginAgain(_)), "{decision:?}");
    }
    let last = Tries { conflicts: CONFLICTS, ..attempt(1) };
    assert_eq!(settled(last, &outcome, &limits(1, 5)), Settlement::Release);
    let stopped = Tries { stopped: Some(CancelCause::Operator), ..attempt(1) };
    assert_eq!(settled(stopped, &outcome, &limits(1, 5)), Settlement::Release);
}

#[test]
fn a_conflict_is_repeated_a_few_times_with_growing_pauses_and_then_is_the_error_it_was() {
    let outcome = Outcome::Failed(HandlerError::Conflict(Box::new(failure())));
    let mut last = Duration::ZERO;
    for conflicts in 0..CONFLICTS {
        let tries = Tries { conflicts, ..attempt(1) };
        let decision = decide(tries, &outcome, &limits(9, 0), 0);
        let Decision::BeginAgain(after) = decision else { panic!("{decision:?}") };
        assert!(after > last);
        last = after;
    }
    let tries = Tries { conflicts: CONFLICTS, ..attempt(1) };
    let settlement = settled(tries, &outcome, &limits(9, 0));
    assert!(matches!(&settlement, Settlement::Retry { error, .. } if error.text == "no"));
    // Then it is a failure like any other.
    let decision = decide(tries, &outcome, &limits(9, 1), 0);
    assert!(matches!(decision, Decision::Repeat(_)), "{decision:?}");
}

#[test]
fn a_lost_lease_and_an_unknown_commit_are_never_repeated() {
    let lost = Outcome::Failed(HandlerError::LeaseLost { message_ids: Vec::new() });
    assert_eq!(settled(attempt(1), &lost, &limits(9, 5)), Settlement::Release);
    let error = StoreError::new(StoreErrorKind::TimedOut, "no answer");
    let settlement =
        settled(attempt(1), &Outcome::Failed(HandlerError::Unsure(error)), &limits(9, 5));
    assert!(matches!(settlement, Settlement::Retry { .. }), "{settlement:?}");
}

#[test]
fn a_batch_with_undecodable_commands_is_judged_by_what_the_rest_came_to() {
    let rest = Box::new(failure());
    let error = HandlerError::InBatch { rest, undecodable: vec![(1, undecodable())] };
    let outcomes = super::super::Outcomes::from(error);
    assert!(matches!(outcomes.at(0), Outcome::Failed(HandlerError::Failed(_))));
    assert!(matches!(outcomes.at(1), Outcome::Failed(HandlerError::Undecodable { .. })));
}
