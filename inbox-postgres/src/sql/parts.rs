//! What statements share: each is a file in `queries/parts`.

macro_rules! parts {
    ($($name:ident)*) => {
        &[$((
            stringify!($name),
            include_str!(concat!("../../queries/parts/", stringify!($name), ".sql")),
        )),*]
    };
}

/// By their names. Those that stand for others in some variants are named there.
pub(super) const PARTS: &[super::render::Part] = parts! {
    crowded deliver delivery first follows found has_lanes hold kept lane_of lane_state let_go limited message
    message_row over queued room wake
};
