//! Third stage: every rule that looks at more than one argument, one function each.

mod contract;
mod handler;
mod name;

pub(crate) use contract::contract;
pub(crate) use handler::handler;
