use super::{Case, array, leases, messages, times};

/// The names of the lanes of `ship` with these numbers.
fn lanes(numbers: impl ExactSizeIterator<Item = u32>) -> String {
    let count = numbers.len();
    let names = array(numbers.map(|number| format!("lane-{number}")));
    format!("{}, {}, {names}", times(count, "ship"), times(count, "\"\""))
}

/// Lanes and limits that are handed on, whether few or many wait for them.
pub(super) fn cases() -> Vec<Case> {
    let deep = format!("{}, {}", leases([1]), messages([200_007]));
    let keys = "'{ship,ship}', '{\"\",\"\"}', '{user-200007,user-200101}'";
    let held = format!("{}, {}", leases([1; 100]), messages(200_001..=200_100));
    vec![
        Case::new("limit_share_held", 1, &*deep),
        Case::new("limit_share_keys", 1, "'{ship}'"),
        Case::new("limit_share_message", 1, messages([200_007])),
        Case::new("limit_wake_held", 1, &*deep),
        Case::new("limit_wake_keys", 2, keys),
        // For each handler that its contract has.
        Case::new("limit_wake_message", 5, messages([200_007])),
        // Each of the 1,011 keys that someone waits for is visited; of ten, none is held.
        Case::new("limit_restart", 1_011, "100"),
        Case::new("lane_lock", 100, lanes(1..101)),
        Case::new("lane_lock_held", 100, held),
        Case::new("lane_names", 5, format!("'{}'", super::message(200_007))),
        Case::new("lane_end", 100, format!("NULL, {}", lanes(9_001..9_101))),
        // One whose delivery is dead and lets others pass, and one whose run goes on.
        Case::new("lane_end", 2, format!("NULL, {}", lanes([9_901, 7].into_iter()))),
        // A hundred run under it.
        Case::new("lane_end_held", 100, "NULL"),
        Case::new("lane_unblock", 1, "'pack', '', 'lane-9902'"),
        // Each of the 2,011 lanes that someone waits behind is visited; ten have ended.
        Case::new("lane_restart", 2_011, "100"),
        // Each lane is visited.
        Case::new("lanes_lost", 10_000, "100"),
    ]
}
