use std::num::NonZeroU32;
use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::policy::{Batching, Concurrency, Rate};
use inbox_core::request::HeldLease;
use inbox_core::store::Terms;

use super::super::kit::{self, numbers, run};
use super::super::throughput::Throughput;
use super::*;

/// How long a run may be that these handlers are given.
const LONGEST_RUN: Duration = Duration::from_secs(10);

fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// How a handler with this key is asked for.
fn wanted(key: &str) -> Vec<Wanted> {
    vec![Wanted {
        handler_key: key.to_owned(),
        versions: vec![1],
        limit: count(1),
        max_crashes: count(3),
        terms: Terms::default(),
    }]
}

fn buffer(concurrency: usize, handlers: &[(&str, HandlerOptions)]) -> Buffer {
    let handlers = handlers.iter().map(|(key, options)| (options, wanted(key)));
    Buffer::new(concurrency, 100, LONGEST_RUN, handlers)
}

fn attempt(key: &str, quarantined: bool) -> Attempt {
    attempt_under(LeaseToken::new(), key, quarantined)
}

fn attempt_under(token: LeaseToken, key: &str, quarantined: bool) -> Attempt {
    let lease = kit::lease(token, key, quarantined);
    let delivery = kit::delivery(MessageId::new().as_u128(), key, None);
    Attempt::leased(delivery, HeldLease::new(&lease, Instant::now()))
}

fn push(buffer: &mut Buffer, key: &str, deliveries: usize, now: Instant) {
    for _ in 0..deliveries {
        assert!(buffer.push(attempt(key, false), now).is_none());
    }
}

/// How much is asked for, of each handler that wants anything.
fn asked(buffer: &mut Buffer, unsettled: usize, now: Instant) -> Vec<(usize, u32)> {
    buffer.wanted(unsettled, now).into_iter().map(|(at, it)| (at, it.limit.get())).collect()
}

#[test]
fn a_new_handler_is_asked_for_as_much_as_can_run_and_a_fast_one_for_more() {
    let now = Instant::now();
    let mut buffer = buffer(8, &[("work", HandlerOptions::default())]);
    assert_eq!(asked(&mut buffer, 0, now), [(0, 8)]);
    push(&mut buffer, "work", 1, now);
    let (at, attempts) = buffer.next(now).unwrap();
    assert_eq!((at, attempts.len()), (0, 1));
    buffer.ended(at, None, Some(Duration::from_millis(100)));
    // Eight at a time of a tenth of a second are twenty in the quarter of one that is leased ahead.
    assert_eq!(asked(&mut buffer, 0, now), [(0, 28)]);
}

#[test]
fn nothing_more_is_asked_for_than_the_buffer_has_room_for() {
    let now = Instant::now();
    let mut buffer = buffer(8, &[("work", HandlerOptions::default())]);
    assert_eq!(asked(&mut buffer, 103, now), [(0, 5)]);
    // Full of what waits to be settled, there is not even the one for a handler that has nothing.
    assert_eq!(asked(&mut buffer, 200, now), []);
}

#[test]
fn who_was_asked_and_had_nothing_is_asked_again_after_news() {
    let now = Instant::now();
    let mut buffer = buffer(8, &[("work", HandlerOptions::default())]);
    assert!(buffer.is_hungry());
    buffer.queues[0].asked(1);
    assert!(!buffer.is_hungry());
    assert_eq!(asked(&mut buffer, 0, now), []);
    buffer.news();
    assert!(buffer.is_hungry());
}

#[test]
fn a_handler_that_stalls_leaves_a_call_to_every_other() {
    let now = Instant::now();
    let other = HandlerOptions::default();
    let mut buffer = buffer(8, &[("stalls", HandlerOptions::default()), ("other", other)]);
    push(&mut buffer, "stalls", 20, now);
    let begun = std::iter::from_fn(|| buffer.next(now)).count();
    assert_eq!(begun, 7);
    push(&mut buffer, "other", 1, now);
    assert_eq!(buffer.next(now).map(|(at, _)| at), Some(1));
    assert!(buffer.next(now).is_none());
}

#[test]
fn handlers_take_turns_and_keep_to_their_own_limits() {
    let now = Instant::now();
    let process = Some(count(2));
    let limited = HandlerOptions {
        concurrency: Concurrency { process, ..Concurrency::default() },
        ..HandlerOptions::default()
    };
    let mut buffer = buffer(8, &[("limited", limited), ("other", HandlerOptions::default())]);
    push(&mut buffer, "limited", 5, now);
    push(&mut buffer, "other", 3, now);
    let order: Vec<_> = std::iter::from_fn(|| buffer.next(now)).map(|(at, _)| at).collect();
    assert_eq!(order, [0, 1, 0, 1, 1]);
    buffer.ended(0, None, None);
    assert_eq!(buffer.next(now).map(|(at, _)| at), Some(0));
}

#[test]
fn a_batch_waits_for_more_until_it_is_full_or_has_lingered() {
    let (now, linger) = (Instant::now(), Duration::from_secs(1));
    let batch = Some(Batching { size: count(3), linger });
    let mut buffer = buffer(8, &[("work", HandlerOptions { batch, ..HandlerOptions::default() })]);
    push(&mut buffer, "work", 4, now);
    assert_eq!(buffer.next(now).map(|(_, attempts)| attempts.len()), Some(3));
    assert!(buffer.next(now).is_none());
    assert_eq!(buffer.wake_at(now), Some(now + linger));
    assert_eq!(buffer.next(now + linger).map(|(_, attempts)| attempts.len()), Some(1));
}

#[test]
fn a_rate_holds_back_what_is_asked_for_and_what_begins() {
    let (now, per) = (Instant::now(), Duration::from_secs(10));
    let rate = Some(Rate { count: count(2), per });
    let mut buffer = buffer(8, &[("work", HandlerOptions { rate, ..HandlerOptions::default() })]);
    assert_eq!(asked(&mut buffer, 0, now), [(0, 2)]);
    push(&mut buffer, "work", 3, now);
    assert_eq!(std::iter::from_fn(|| buffer.next(now)).count(), 2);
    assert_eq!(buffer.wake_at(now), Some(now + per));
    assert!(buffer.next(now + per).is_some());
}

#[test]
fn a_quarantined_group_runs_before_the_others_and_apart_for_a_while() {
    let now = Instant::now();
    let mut buffer = buffer(8, &[("work", HandlerOptions::default())]);
    push(&mut buffer, "work", 2, now);
    let token = LeaseToken::new();
    for _ in 0..2 {
        assert!(buffer.push(attempt_under(token, "work", true), now).is_none());
    }
    for _ in 0..2 {
        let (_, attempts) = buffer.next(now).unwrap();
        assert_eq!((attempts.len(), attempts[0].token()), (1, Some(token)), "calls of their own");
    }
    assert!(buffer.next(now).is_none(), "they are apart");
    assert_eq!(buffer.wake_at(now), Some(now + ALONE));
    buffer.ended(0, Some(token), None);
    assert!(buffer.next(now).is_none(), "one of them still runs");
    buffer.ended(0, Some(token), None);
    assert_eq!(std::iter::from_fn(|| buffer.next(now)).count(), 2);
}

#[test]
fn what_waits_too_long_or_has_no_handler_is_given_back() {
    let now = Instant::now();
    let mut buffer = buffer(1, &[("work", HandlerOptions::default())]);
    assert!(buffer.push(attempt("unknown", false), now).is_some());
    push(&mut buffer, "work", 3, now);
    assert!(buffer.next(now).is_some());
    assert!(buffer.stale(now).is_empty());
    assert_eq!(buffer.stale(now + LONGEST_WAIT).len(), 2);
    assert_eq!((buffer.queued(), buffer.take_all().len()), (0, 0));
}

#[test]
fn a_batch_takes_the_next_one_of_each_run() {
    let now = Instant::now();
    let batch = Some(Batching { size: count(4), linger: Duration::ZERO });
    let mut buffer = buffer(8, &[("work", HandlerOptions { batch, ..HandlerOptions::default() })]);
    let ((one, ones), (_, others)) = (run(1..=3), run(4..=6));
    for attempt in ones.into_iter().chain(others).chain([kit::attempt(7)]) {
        assert!(buffer.push(attempt, now).is_none());
    }
    let (at, attempts) = buffer.next(now).unwrap();
    assert_eq!(numbers(&attempts), [1, 4, 7]);
    assert!(buffer.behind(at, &attempts).is_empty());
    assert!(buffer.next(now).is_none(), "the others are behind them");
    buffer.ended(at, None, Some(Duration::from_millis(1)));
    buffer.queues[at].line.goes_on(&one, now);
    assert_eq!(buffer.next(now).map(|(_, attempts)| numbers(&attempts)), Some(vec![2]));
    assert_eq!(buffer.queued(), 3);
}

#[test]
fn a_run_takes_one_call_and_others_run_beside_it() {
    let now = Instant::now();
    let mut buffer = buffer(2, &[("work", HandlerOptions::default())]);
    let (lane, attempts) = run(1..=10);
    for attempt in attempts.into_iter().chain([kit::attempt(20)]) {
        assert!(buffer.push(attempt, now).is_none());
    }
    let begun: Vec<_> = std::iter::from_fn(|| buffer.next(now)).collect();
    let begun: Vec<_> = begun.iter().flat_map(|(_, attempts)| numbers(attempts)).collect();
    assert_eq!(begun, [1, 20]);
    assert_eq!(numbers(&buffer.stop(0, &lane)), (2..=10).collect::<Vec<_>>());
    assert_eq!(buffer.queued(), 0);
}

#[test]
fn a_fast_handler_is_handed_the_next_ones_of_a_run_and_a_slow_one_or_one_with_a_rate_is_not() {
    let now = Instant::now();
    let rate = Some(Rate { count: count(100), per: Duration::from_secs(1) });
    let handed = |took: Option<Duration>, options: HandlerOptions| {
        let mut buffer = buffer(2, &[("work", options)]);
        for attempt in run(1..=20).1 {
            assert!(buffer.push(attempt, now).is_none());
        }
        if let Some(took) = took {
            buffer.queues[0].throughput.ended(took);
        }
        let (at, attempts) = buffer.next(now).unwrap();
        let behind = buffer.behind(at, &attempts);
        assert_eq!(buffer.queued(), 19, "handed or not");
        behind.len()
    };
    assert_eq!(handed(None, HandlerOptions::default()), 0);
    assert_eq!(handed(Some(Duration::from_secs(1)), HandlerOptions::default()), 0);
    assert_eq!(handed(Some(Duration::from_micros(500)), HandlerOptions::default()), 10);
    assert_eq!(handed(Some(Duration::from_nanos(1)), HandlerOptions::default()), 19);
    let limited = HandlerOptions { rate, ..HandlerOptions::default() };
    assert_eq!(handed(Some(Duration::from_nanos(1)), limited), 0);
}

#[test]
fn runs_are_asked_for_that_the_handler_does_in_time_and_few_of_one_that_nobody_knows() {
    let now = Instant::now();
    let mut buffer = buffer(64, &[("work", HandlerOptions::default())]);
    let mut length = |took: Option<Duration>| {
        if let Some(took) = took {
            buffer.queues[0].throughput = Throughput::default();
            buffer.queues[0].throughput.ended(took);
        }
        let (_, wanted) = buffer.wanted(0, now).remove(0);
        (wanted.terms.runs.length.get(), wanted.terms.runs.lanes.get())
    };
    assert_eq!(length(None), (8, 64));
    assert_eq!(length(Some(Duration::from_secs(3))), (3, 69));
    assert_eq!(length(Some(Duration::from_mins(1))), (1, 64));
    // The buffer of these tests is for a hundred, and as many more as can begin.
    assert_eq!(length(Some(Duration::from_micros(2))), (164, 128));
}

#[test]
fn what_is_behind_in_a_run_keeps_no_other_call_from_being_asked_for() {
    let now = Instant::now();
    let mut buffer = buffer(2, &[("work", HandlerOptions::default())]);
    for attempt in run(1..=20).1 {
        assert!(buffer.push(attempt, now).is_none());
    }
    assert!(buffer.next(now).is_some() && buffer.next(now).is_none());
    assert_eq!(asked(&mut buffer, 0, now), [(0, 1)], "one more call can begin");
    // Two calls of a fifth of a second are two within what is leased ahead, and the run is one of them.
    buffer.queues[0].throughput.ended(Duration::from_millis(200));
    assert_eq!(asked(&mut buffer, 0, now), [(0, 2)]);
}
