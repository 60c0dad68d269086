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
