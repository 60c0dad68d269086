use std::num::NonZeroU32;

use super::super::kit::{attempt, numbers, of_run, run};
use super::*;

const LONGEST: Duration = Duration::from_secs(5);

fn line(attempts: impl IntoIterator<Item = Attempt>, now: Instant) -> Line {
    let mut line = Line::default();
    attempts.into_iter().for_each(|attempt| line.push(attempt, now));
    line
}

/// Everything that can begin.
fn pop_all(line: &mut Line, now: Instant) -> Vec<u128> {
    let popped: Vec<_> = std::iter::from_fn(|| line.pop(now)).collect();
    numbers(&popped)
}

#[test]
fn of_a_run_one_delivery_at_a_time_can_begin_and_the_next_one_before_others() {
    let now = Instant::now();
    let (one, attempts) = run(1..=3);
    let mut line = line(attempts.into_iter().chain([attempt(10), attempt(11)]), now);
    assert_eq!((line.queued(), line.next_ones()), (5, 3));
    assert_eq!(line.pop(now).map(|it| numbers([&it])), Some(vec![1]));
    line.goes_on(&one, now);
    assert_eq!(pop_all(&mut line, now), [2, 10, 11], "3 comes after 2");
    line.goes_on(&one, now);
    assert_eq!(pop_all(&mut line, now), [3]);
    line.goes_on(&one, now);
    assert_eq!((line.queued(), line.next_ones(), line.runs.len()), (0, 0, 0));
}

#[test]
fn a_run_that_has_gone_on_for_long_lets_others_have_a_turn() {
    let now = Instant::now();
    let (one, attempts) = run(1..=4);
    let mut line = line(attempts.into_iter().chain([attempt(10)]), now);
    assert!(line.pop(now).is_some());
    line.goes_on(&one, now + TURN);
    assert_eq!(pop_all(&mut line, now + TURN), [10, 2]);
    line.goes_on(&one, now + TURN);
    line.push(attempt(11), now + TURN);
    assert_eq!(pop_all(&mut line, now + TURN), [3, 11], "its next turn has just begun");
}

#[test]
fn a_run_that_stops_answers_what_is_left_of_it_in_its_order() {
    let now = Instant::now();
    let (one, attempts) = run(1..=4);
    let mut begun = line(attempts, now);
    assert!(begun.pop(now).is_some());
    assert_eq!(numbers(&begun.stop(&one)), [2, 3, 4]);
    begun.goes_on(&one, now);
    assert_eq!((begun.queued(), begun.next_ones()), (0, 0), "it has stopped for good");
    let (one, attempts) = run(1..=3);
    let mut queued = line(attempts.into_iter().chain([attempt(10)]), now);
    assert_eq!(numbers(&queued.stop(&one)), [1, 2, 3]);
    assert_eq!((queued.queued(), pop_all(&mut queued, now)), (1, vec![10]));
}

#[test]
fn a_run_waits_until_the_end_of_its_last_delivery_is_written() {
    let now = Instant::now();
    let (one, attempts) = run(1..=3);
    let mut line = line(attempts, now);
    assert!(line.pop(now).is_some());
    // The end of an earlier one says nothing about the one that runs.
    line.written(&one, now);
    assert_eq!(line.next_ones(), 0);
    line.waits(&one);
    assert_eq!((line.queued(), line.next_ones()), (2, 0));
    line.written(&one, now);
    assert_eq!(pop_all(&mut line, now), [2]);
}

#[test]
fn what_is_handed_on_with_a_delivery_comes_back_before_the_rest() {
    let now = Instant::now();
    let (one, attempts) = run(1..=6);
    let mut line = line(attempts, now);
    assert!(line.pop(now).is_some());
    let mut handed = line.behind(&one, 3);
    assert_eq!((numbers(&handed), line.queued()), (vec![2, 3, 4], 2));
    handed.remove(0);
    assert!(line.put_back(handed).is_empty());
    assert_eq!(line.queued(), 4);
    line.goes_on(&one, now);
    assert_eq!(pop_all(&mut line, now), [3]);
    let handed = line.behind(&one, 1);
    assert_eq!(numbers(&line.stop(&one)), [5, 6]);
    assert_eq!(numbers(&line.put_back(handed)), [4], "nobody begins it any more");
    assert_eq!(line.queued(), 0);
}

#[test]
fn what_waits_for_too_long_is_given_back_but_nothing_behind_a_delivery_that_runs() {
    let now = Instant::now();
    let ((first, one), (_, other)) = (run(1..=3), run(4..=6));
    let mut line = line(one.into_iter().chain(other).chain([attempt(10)]), now);
    assert!(line.pop(now).is_some());
    assert!(line.stale(LONGEST, now + LONGEST / 2).is_empty());
    assert_eq!(numbers(&line.stale(LONGEST, now + LONGEST)), [4, 5, 6, 10]);
    assert_eq!((line.queued(), line.next_ones()), (2, 0));
    // Nobody waits, so it goes on; and what cannot begin now waits from now on.
    line.goes_on(&first, now + LONGEST);
    assert!(line.stale(LONGEST, now + LONGEST).is_empty());
    assert_eq!(numbers(&line.stale(LONGEST, now + 2 * LONGEST)), [2, 3]);
}

#[test]
fn all_is_taken_but_what_is_behind_a_delivery_that_runs() {
    let now = Instant::now();
    let ((running, one), (unwritten, two), (_, three)) = (run(1..=3), run(4..=6), run(7..=8));
    let mut line = line(one.into_iter().chain(two).chain(three), now);
    assert!(line.pop(now).is_some() && line.pop(now).is_some());
    line.waits(&unwritten);
    assert_eq!(numbers(&line.take_all()), [7, 8, 5, 6]);
    assert_eq!(line.queued(), 2);
    line.goes_on(&running, now);
    assert_eq!(numbers(&line.take_all()), [2, 3]);
    assert_eq!((line.queued(), line.runs.len()), (0, 0));
}

#[test]
fn long_runs_count_only_for_what_they_keep_busy_soon() {
    let now = Instant::now();
    let ((_, one), (_, other)) = (run(1..=50), run(51..=100));
    let mut line = line(one.into_iter().chain(other).chain([attempt(200)]), now);
    assert_eq!((line.soon(0), line.soon(10), line.soon(1_000)), (3, 23, 101));
    assert!(line.pop(now).is_some());
    assert_eq!((line.soon(0), line.soon(10), line.soon(1_000)), (2, 22, 100));
}

/// Deliveries that share so many permits.
fn sharing(permits: u32, numbers: impl IntoIterator<Item = u128>) -> (LaneRun, Vec<Attempt>) {
    of_run(LaneRun::permits(NonZeroU32::new(permits).unwrap()), numbers)
}

#[test]
fn as_many_begin_as_there_are_permits_and_whichever_ends_lets_the_next_one_begin() {
    let now = Instant::now();
    let (two, attempts) = sharing(2, 1..=5);
    let mut line = line(attempts.into_iter().chain([attempt(10)]), now);
    assert_eq!((line.queued(), line.next_ones()), (6, 3));
    assert_eq!(pop_all(&mut line, now), [1, 2, 10]);
    // The first one takes long: the others go on beside it.
    for next in 3..=5 {
        line.goes_on(&two, now);
        assert_eq!(pop_all(&mut line, now), [next]);
    }
    line.goes_on(&two, now);
    assert_eq!((line.queued(), line.runs.len()), (0, 1), "the first one has its permit still");
    line.goes_on(&two, now);
    assert_eq!(line.runs.len(), 0);
}

#[test]
fn what_waits_for_a_permit_for_too_long_is_given_back_also_while_all_permits_are_in_use() {
    let now = Instant::now();
    let (two, attempts) = sharing(2, 1..=5);
    let mut line = line(attempts, now);
    assert_eq!(pop_all(&mut line, now), [1, 2]);
    line.goes_on(&two, now + LONGEST / 2);
    assert!(line.stale(LONGEST, now + LONGEST).is_empty(), "one had its turn not long ago");
    assert_eq!(numbers(&line.stale(LONGEST, now + LONGEST * 2)), [3, 4, 5]);
    line.goes_on(&two, now);
    line.goes_on(&two, now);
    assert_eq!((line.queued(), line.next_ones()), (0, 0));
}

#[test]
fn when_all_is_taken_back_so_is_what_waits_for_a_permit() {
    let now = Instant::now();
    let (_, attempts) = sharing(1, 1..=3);
    let mut begun = line(attempts, now);
    assert_eq!(pop_all(&mut begun, now), [1]);
    assert_eq!(numbers(&begun.take_all()), [2, 3]);
    let (three, attempts) = sharing(3, 1..=5);
    let mut stopped = line(attempts.into_iter().chain([attempt(10)]), now);
    assert!(stopped.pop(now).is_some());
    assert_eq!(numbers(&stopped.stop(&three)), [2, 3, 4, 5]);
    assert_eq!((stopped.queued(), pop_all(&mut stopped, now)), (1, vec![10]));
}
