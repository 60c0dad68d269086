use std::time::Duration;

use inbox_core::request::Attempt;
use inbox_core::settle::{DoneOutcome, ErrorReport};

use super::super::kit::{attempt, run};
use super::*;

fn done() -> Settlement {
    Settlement::Done(DoneOutcome::Completed)
}

fn retry() -> Settlement {
    Settlement::Retry { after: Duration::from_secs(1), error: ErrorReport::new("failed", "no") }
}

/// All of them succeeded.
fn push_done(unsettled: &mut Unsettled, attempts: &[Attempt]) {
    for attempt in attempts {
        push(unsettled, attempt, done());
    }
}

fn push(unsettled: &mut Unsettled, attempt: &Attempt, settlement: Settlement) {
    unsettled.push(Decided::new(attempt, settlement).unwrap());
}

fn numbers(decided: &[Decided]) -> Vec<u128> {
    decided.iter().map(|one| one.settle.message_id.as_u128()).collect()
}

/// The next group, which is all that can be written.
fn next(unsettled: &mut Unsettled) -> Vec<Decided> {
    let Group { settled, lost } = unsettled.next_group().unwrap_or_default();
    assert!(lost.is_empty(), "{lost:?}");
    settled
}

fn over(unsettled: &mut Unsettled, group: &[Decided]) {
    for one in group {
        unsettled.over(one.run.as_ref());
    }
}

#[test]
fn successes_and_failures_are_written_apart_and_in_turn() {
    let mut unsettled = Unsettled::default();
    push(&mut unsettled, &attempt(1), done());
    push(&mut unsettled, &attempt(2), retry());
    push(&mut unsettled, &attempt(3), done());
    let groups = [next(&mut unsettled), next(&mut unsettled)].map(|group| numbers(&group));
    assert_eq!(groups, [vec![2], vec![1, 3]]);
    assert!(unsettled.next_group().is_none());
    assert_eq!(unsettled.len(), 3, "until they are known to be written");
}

#[test]
fn what_waits_of_one_run_is_in_one_group_in_its_order_whatever_it_is() {
    let mut unsettled = Unsettled::default();
    let (_, attempts) = run(1..=4);
    let settlements = [done(), retry(), Settlement::Release, Settlement::Release];
    for (attempt, settlement) in attempts.iter().zip(settlements) {
        push(&mut unsettled, attempt, settlement);
    }
    push(&mut unsettled, &attempt(10), retry());
    let groups = [next(&mut unsettled), next(&mut unsettled)].map(|group| numbers(&group));
    assert_eq!(groups, [vec![10], vec![1, 2, 3, 4]]);
}

#[test]
fn what_follows_in_a_run_waits_until_what_is_being_written_is() {
    let mut unsettled = Unsettled::default();
    let (lane, attempts) = run(1..=4);
    push(&mut unsettled, &attempts[0], done());
    let first = next(&mut unsettled);
    push(&mut unsettled, &attempts[1], retry());
    push(&mut unsettled, &attempts[2], Settlement::Release);
    push(&mut unsettled, &attempts[3], Settlement::Release);
    push(&mut unsettled, &attempt(10), done());
    let others = next(&mut unsettled);
    assert_eq!((numbers(&first), numbers(&others)), (vec![1], vec![10]));
    assert!(unsettled.next_group().is_none());
    over(&mut unsettled, &others);
    assert!(unsettled.next_group().is_none(), "another group says nothing");
    over(&mut unsettled, &first);
    let rest = next(&mut unsettled);
    assert_eq!(numbers(&rest), [2, 3, 4]);
    assert!(unsettled.has(&lane));
    over(&mut unsettled, &rest);
    assert_eq!((unsettled.len(), unsettled.has(&lane), unsettled.runs.len()), (0, false, 0));
}

#[test]
fn a_run_that_does_not_fit_into_a_group_is_written_in_its_order_all_the_same() {
    let mut unsettled = Unsettled::default();
    let (_, attempts) = run(0..1_200);
    let (now, later) = attempts.split_at(1_100);
    push_done(&mut unsettled, now);
    push(&mut unsettled, &attempt(5_000), done());
    let first = next(&mut unsettled);
    assert_eq!(numbers(&first), (0..500).collect::<Vec<_>>());
    // Some of it is set aside, some is not yet looked at, and some is decided only now.
    let second = next(&mut unsettled);
    assert_eq!(numbers(&second), [5_000]);
    push_done(&mut unsettled, later);
    assert!(unsettled.next_group().is_none());
    over(&mut unsettled, &first);
    let mut written = Vec::new();
    while let Some(Group { settled, .. }) = unsettled.next_group() {
        assert!(unsettled.next_group().is_none(), "all else is of the same run");
        written.extend(numbers(&settled));
        over(&mut unsettled, &settled);
    }
    assert_eq!(written, (500..1_200).collect::<Vec<_>>());
}

#[test]
fn what_is_set_aside_stays_before_what_is_in_the_queue() {
    let mut unsettled = Unsettled::default();
    let (_, attempts) = run(0..1_300);
    // The second group is full of others before it has looked at all of the run.
    push_done(&mut unsettled, &attempts[..900]);
    (2_000..2_500).for_each(|number| push(&mut unsettled, &attempt(number), done()));
    push_done(&mut unsettled, &attempts[900..]);
    let (first, second) = (next(&mut unsettled), next(&mut unsettled));
    assert_eq!((first.len(), numbers(&second)), (500, (2_000..2_500).collect::<Vec<_>>()));
    over(&mut unsettled, &first);
    over(&mut unsettled, &second);
    let mut written = Vec::new();
    while let Some(Group { settled, .. }) = unsettled.next_group() {
        written.extend(numbers(&settled));
        over(&mut unsettled, &settled);
    }
    assert_eq!(written, (500..1_300).collect::<Vec<_>>());
}

#[test]
fn nothing_is_written_of_a_run_after_something_that_was_not() {
    let mut unsettled = Unsettled::default();
    let (lane, attempts) = run(1..=3);
    push(&mut unsettled, &attempts[0], done());
    let first = next(&mut unsettled);
    push(&mut unsettled, &attempts[1], done());
    push(&mut unsettled, &attempts[2], Settlement::Release);
    lane.lose();
    over(&mut unsettled, &first);
    let Group { settled, lost } = unsettled.next_group().unwrap();
    assert_eq!((settled.len(), numbers(&lost)), (0, vec![2, 3]));
    over(&mut unsettled, &lost);
    assert_eq!((unsettled.len(), unsettled.runs.len()), (0, 0));
}

#[test]
fn much_is_written_beside_another_group_and_so_is_what_others_wait_for_at_a_limit() {
    let mut unsettled = Unsettled::default();
    assert!(!unsettled.is_worth_a_group() && !unsettled.has_queued());
    for number in 1..250 {
        push(&mut unsettled, &attempt(number), done());
    }
    assert!(!unsettled.is_worth_a_group(), "it waits for the group that is being written");
    push(&mut unsettled, &attempt(250), retry());
    assert!(unsettled.is_worth_a_group(), "half a group is enough");

    let mut limited = Unsettled::default();
    let mut decided = Decided::new(&attempt(1), done()).unwrap();
    decided.settle.shares.limit = true;
    limited.push(decided);
    assert!(limited.is_worth_a_group() && limited.has_queued());
}
