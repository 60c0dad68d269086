//! Third stage: rules about what the values mean, alone and together, one function each.

mod contract;
mod handler;
mod name;

pub(crate) use contract::contract;
pub(crate) use handler::handler;
