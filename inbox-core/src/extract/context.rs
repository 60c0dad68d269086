use tokio_util::sync::CancellationToken;

use super::{Extract, Setup};
use crate::Timestamp;
use crate::error::Rejection;
use crate::message::{Delivery, Headers, MessageId};
use crate::outcome::CancelCause;
use crate::provide::Missing;
use crate::request::Request;
use crate::schedule::{Origin, ScheduleOptions, Scheduler};

/// Facts about the message at hand and about this attempt to handle it.
#[derive(Debug, Clone)]
pub struct Context(Request);

impl Context {
    fn delivery(&self) -> &Delivery {
        self.0.delivery()
    }

    /// The message's id.
    #[must_use]
    pub fn message_id(&self) -> MessageId {
        self.delivery().message.id
    }

    /// When the message was accepted, by the store's clock.
    #[must_use]
    pub fn accepted_at(&self) -> Timestamp {
        self.delivery().accepted_at
    }

    /// The key this delivery was stored under: the handler's own, or one it carries as legacy.
    #[must_use]
    pub fn handler_key(&self) -> &str {
        &self.delivery().handler_key
    }

    /// Which attempt this is, from 1. After a worker has vanished, the same number may come again.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.delivery().attempt
    }

    /// How often this attempt has been repeated at once; 0 the first time.
    #[must_use]
    pub fn immediate_retries(&self) -> u32 {
        self.0.immediate_retries()
    }

    /// How often the delivery came back after waiting; 0 the first time.
    #[must_use]
    pub fn delayed_retries(&self) -> u32 {
        self.delivery().carry.retries
    }

    /// The conversation the message belongs to.
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.delivery().message.correlation_id.as_deref()
    }

    /// The message that caused this one.
    #[must_use]
    pub fn causation_id(&self) -> Option<&str> {
        self.delivery().message.causation_id.as_deref()
    }

    /// Whose message this is; empty where an application has no tenants.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.delivery().message.tenant
    }

    /// What travels with the message beside its payload.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.delivery().message.headers
    }

    /// Options for a command that follows from this one: it belongs to the same conversation and the
    /// same tenant, and names this message as its cause.
    pub fn follow_up(&self) -> ScheduleOptions {
        Origin::of(&self.delivery().message).complete(ScheduleOptions::new())
    }

    /// Schedules what follows from this message: where the options say nothing else, it belongs to
    /// the same conversation and the same tenant, and names this message as its cause.
    ///
    /// In a handler with a transaction, `context.scheduler().within(tx)` stores it with the transaction.
    #[must_use]
    pub fn scheduler(&self) -> Scheduler {
        self.0.scheduler().clone().following(&self.delivery().message)
    }

    /// Cancelled when the handler should stop: shutdown, a lost lease, or an operator.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.cancellation()
    }

    /// Why the handler should stop, once it should.
    #[must_use]
    pub fn cancel_cause(&self) -> Option<CancelCause> {
        self.0.cancel_cause()
    }
}

impl Extract for Context {
    type Prepared = ();

    fn prepare(_: &Setup<'_>) -> Result<(), Missing> {
        Ok(())
    }

    fn extract((): &(), request: &Request) -> Result<Self, Rejection> {
        Ok(Self(request.clone()))
    }
}
