//! What cases are written with.

mod bench;
mod envelopes;
mod fleet;
mod held;
mod lane;
mod look;
mod together;
mod verbs;

pub(super) use bench::{Bench, HOLD, PATIENCE, SECOND};
pub(super) use envelopes::{
    bytes, delayed, envelope, keyed, of_tenant, ordered, prioritised, same_json, starting,
    versioned,
};
pub(super) use fleet::{ALIVE, refused, served};
pub(super) use held::{Held, MAX_CRASHES, running, wanted};
pub(super) use lane::{accept_lane, drain, lane, run_of};
pub(super) use look::{id_of, ids, is_new};
pub(super) use together::{all_at_once, patiently};
pub(super) use verbs::{DONE, dead, fail_after, failure, route_of};
