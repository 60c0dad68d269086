//! What passes and the host's pump do alike with a leased delivery: it is cut into what one call of a
//! handler is given, dispatched, judged and settled.

mod dispatch;
mod judge;
mod settle;
mod share;

pub(crate) use dispatch::Watch;
pub(crate) use judge::{Judged, judge, log};
pub(crate) use settle::Unsure;
pub(crate) use share::{Share, Work, batch_size, shares};
