use super::{Case, array, leases, messages, times};

/// All that is held under one lease.
const MANY: u32 = 100;

pub(super) fn cases() -> Vec<Case> {
    let count = MANY as usize;
    let held = format!("{}, {}", leases([20; MANY as usize]), messages(201_901..=201_900 + MANY));
    let case = |name, more: &str| Case::new(name, MANY.into(), format!("{held}{more}"));
    let settle = |name, more: &str| Case::new(name, MANY.into(), format!("NULL, {held}, {more}"));
    let completed = times(count, "completed");
    let mut cases = vec![
        settle("settle_done", &completed),
        settle("settle_done_within", &format!("{completed}, {MANY}, 'mark'")),
        Case::new("must_settle", 0, "'mark'"),
        case("held_wait", ""),
        case("limit_share_held", ""),
        case("limit_wake_held", ""),
    ];
    for place in ["done", "waiting", "dead", "ready"] {
        let (places, errors) = (times(count, place), times(count, "x"));
        let (after, carries) = (times(count, "1 min"), times(count, "NULL"));
        let turns = array((0..MANY).map(|turn| turn.to_string()));
        let more =
            format!("{places}, {completed}, {after}, {errors}, {errors}, {carries}, {turns}");
        cases.push(settle("settle", &more));
        cases.push(settle("settle_within", &format!("{more}, {MANY}, 'mark'")));
    }
    cases
}
