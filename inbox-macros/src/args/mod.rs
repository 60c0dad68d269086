//! First stage: the tokens between an attribute's parentheses become named, typed values.
//!
//! What a value's form tells is judged here. A mistake is noted and the argument left out, so that
//! the next one is still looked at.

mod contract;
mod duration;
mod handler;
mod limits;
mod list;
mod read;
mod retry;
mod split;

pub(crate) use contract::ContractArgs;
pub(crate) use handler::{HandlerArgs, HandlersArgs};
pub(crate) use limits::{BatchArgs, RateArgs};
pub(crate) use read::Spanned;
pub(crate) use retry::{DelayArgs, RetryArgs};
pub(crate) use split::{find_outside_angles, split_at_commas};
