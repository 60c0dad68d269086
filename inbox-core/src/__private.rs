//! What the macros' output names. Not for use by hand: it changes without notice.

pub use std::borrow::Cow;
pub use std::format;
pub use std::string::String;
pub use std::sync::Arc;
pub use std::time::Duration;

pub use crate::Location;
pub use crate::contract::key::key_part;
pub use crate::contract::upgrade::{Upgrade, upgrade};
pub use crate::contract::{Contract, ContractDescriptor, DecodeError, KeyTemplates, Lineage};
pub use crate::message::Payload;
pub use crate::policy::limits::at_least_one;
pub use crate::policy::retry::{longer, shorter};
pub use crate::policy::{
    Backoff, Batching, Concurrency, Delays, HandlerOptions, Jitter, OnDead, Rate, RetryPolicy,
};

#[cfg(feature = "dispatch")]
pub use dispatch::*;

#[cfg(feature = "dispatch")]
mod dispatch {
    pub use inventory;

    pub use crate::extract::{Extract, Loan, Setup, State};
    pub use crate::handler::batch::DecodedBatch;
    pub use crate::handler::command::{Command, batch, command};
    pub use crate::handler::function::{batch_fn, handler_fn};
    pub use crate::handler::{BatchReturn, Handler, HandlerDescriptor, HandlerReturn};
    pub use crate::outcome::HandlerError;
    pub use crate::request::Request;
}
