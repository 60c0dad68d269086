use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inbox_core::store::{LeaseStore as _, Store};

use super::control::{Control, Stop};
use super::leases::Leases;
use super::observe::Observers;
use crate::Inbox;
use crate::host::HostOptions;

/// What the loops of a running host have in common.
pub(super) struct Shared<S> {
    pub(super) inbox: Inbox<S>,
    pub(super) control: Arc<Control>,
    pub(super) stop: Stop,
    pub(super) leases: Leases,
    pub(super) observers: Observers,
    /// Whether the bell rings for what other processes do.
    pub(super) listens: AtomicBool,
    /// How often a settlement is written again that the store cannot take; for as long as its lease holds,
    /// if nothing is said.
    pub(super) tries: Option<u32>,
}

impl<S: Store> Shared<S> {
    pub(super) fn options(&self) -> &HostOptions {
        &self.inbox.parts().host
    }

    /// Whether the bell rings for everything: then the store need not be asked all the time.
    pub(super) fn hears_everything(&self) -> bool {
        self.inbox.port().bell().is_some() && self.listens.load(Ordering::Relaxed)
    }
}
