use super::*;

const TOLD: Next = Next::Tell { is_repeated: false };
const REPEATED: Next = Next::Tell { is_repeated: true };

#[test]
fn the_first_news_is_told_at_once_and_what_follows_together() {
    let (mut news, start) = (News::default(), Instant::now());
    assert!(news.add() && news.watch());
    assert_eq!(news.next(start), TOLD);
    assert!(news.add(), "what was told is not fresh any more");
    assert!(!news.add() && !news.watch());
    assert_eq!(news.next(start + REST / 2), Next::Wait(start + REST));
    assert_eq!(news.next(start + REST), TOLD);
    assert_eq!(news.next(start + REST), Next::Nothing);
    assert!(news.add() && news.watch(), "someone has to ask anew");
    assert_eq!(news.next(start + REST), Next::Wait(start + REST * 2));
}

#[test]
fn turns_that_are_handed_on_here_are_told_together_in_a_while() {
    let (mut news, start) = (News::default(), Instant::now());
    assert!(news.hand_on(start) && news.watch());
    assert_eq!(news.next(start), Next::Wait(start + HANDED_ON));
    let later = start + HANDED_ON / 2;
    assert!(!news.hand_on(later), "someone will tell it");
    assert_eq!(
        news.next(later),
        Next::Wait(start + HANDED_ON),
        "and the next one puts off nothing"
    );
    assert_eq!(news.next(start + HANDED_ON), TOLD);
    assert_eq!(news.next(start + HANDED_ON), Next::Nothing);
}

#[test]
fn fresh_news_does_not_wait_for_a_turn_that_was_handed_on_and_the_end_waits_for_nothing() {
    let (mut news, start) = (News::default(), Instant::now());
    news.hand_on(start);
    assert!(news.add());
    assert_eq!(news.next(start), TOLD);
    assert_eq!(news.next(start + HANDED_ON), Next::Nothing, "all are told");
    news.hand_on(start);
    assert_eq!(news.last(), TOLD);
    assert_eq!(news.last(), Next::Nothing);
}

#[test]
fn news_that_nobody_was_there_to_tell_does_not_silence_what_follows() {
    let mut news = News::default();
    assert!(news.add());
    assert!(news.add(), "still nobody knows");
    assert!(news.watch());
    assert!(!news.add());
    news.abandon();
    assert!(news.add() && news.watch());
}

#[test]
fn an_expected_commit_is_told_with_growing_gaps_to_the_end() {
    let (mut news, start) = (News::default(), Instant::now());
    news.expect(start);
    let (mut now, mut told) = (start, Vec::new());
    loop {
        match news.next(now) {
            Next::Wait(until) => now = until,
            next @ Next::Tell { .. } => {
                assert_eq!(next, REPEATED);
                told.push((now - start).as_millis());
            }
            Next::Nothing => break,
        }
    }
    assert_eq!(told, [5, 15, 35, 75, 155, 315, 635, 1275, 2000]);
}

#[test]
fn a_commit_expected_later_begins_anew_and_news_in_between_does_not_wait() {
    let (mut news, start) = (News::default(), Instant::now());
    news.expect(start);
    let second = start + EXPECTED / 2;
    assert_eq!(news.next(second), REPEATED);
    assert!(matches!(news.next(second), Next::Wait(_)));
    news.expect(second);
    assert!(news.add());
    assert_eq!(news.next(second + REST), REPEATED);
    let Next::Wait(again) = news.next(second + REST) else { panic!("it is not over") };
    assert_eq!(again, second + REST * 2);
}

#[test]
fn whoever_tells_the_last_news_leaves_none() {
    let mut news = News::default();
    assert_eq!(news.last(), Next::Nothing);
    news.add();
    news.expect(Instant::now());
    assert_eq!(news.last(), REPEATED);
    assert_eq!(news.last(), Next::Nothing);
}
