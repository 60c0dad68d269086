use super::{BY_MESSAGE, Case, leases, messages};

/// Lanes and limits that are handed on, whether few or many wait for them.
pub(super) fn cases() -> Vec<Case> {
    let deep = format!("{}, {}", leases([1]), messages([200_007]));
    let keys = "'{ship,ship}', '{\"\",\"\"}', '{user-200007,user-200101}'";
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
        Case::new("lane_lock", 100, messages(200_001..=200_100)),
        Case::new("lane_lock_of", 1, messages([200_007])),
        Case::new("lane_pass", 100, format!("NULL, {}", messages(209_001..=209_100))),
        // A head that is dead and lets others pass, and one that is held still.
        Case::new("lane_pass", 2, format!("NULL, {}", messages([209_901, 200_007]))),
        Case::new("lane_repair", 10, format!("NULL, {}", messages(209_991..=210_000)))
            .reading(&[BY_MESSAGE]),
        Case::new("lane_unblock", 1, "'pack', '', 'lane-9902'"),
        // Each of the 2,011 lanes that someone waits behind is visited; ten have ended.
        Case::new("lane_restart", 2_011, "NULL, 100"),
        // Each lane is visited.
        Case::new("lanes_lost", 10_000, "100").reading(&[BY_MESSAGE]),
    ]
}
