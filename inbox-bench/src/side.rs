use anyhow::Result;
use inbox::store::Lease;

use crate::contract::Command;
use crate::ours::Ours;
use crate::raw::{Held, Raw};

/// Tasks that schedule at once, and connections on either side.
pub(crate) const TASKS: usize = 16;

/// Deliveries in one lease.
pub(crate) const BATCH: u32 = 500;

/// Who does the work: the library, or SQL written by hand. Whatever is measured is one piece of code
/// for both.
pub(crate) enum Side {
    Inbox(Ours),
    Raw(Raw),
}

/// What a worker holds.
pub(crate) enum Batch {
    Inbox(Vec<Lease>),
    Raw(Option<Held>),
}

impl Side {
    pub(crate) async fn schedule(&self, task: usize, command: Command) -> Result<()> {
        match self {
            Self::Inbox(ours) => ours.schedule(command).await,
            Self::Raw(raw) => raw.schedule(task, command).await,
        }
    }

    pub(crate) async fn schedule_all(&self, commands: Vec<Command>) -> Result<()> {
        match self {
            Self::Inbox(ours) => ours.schedule_all(commands).await,
            Self::Raw(raw) => raw.schedule_all(commands).await,
        }
    }

    pub(crate) async fn lease(&self, worker: usize) -> Result<Batch> {
        match self {
            Self::Inbox(ours) => ours.lease().await.map(Batch::Inbox),
            Self::Raw(raw) => raw.lease(worker, BATCH).await.map(Batch::Raw),
        }
    }

    pub(crate) async fn settle(&self, worker: usize, batch: Batch) -> Result<()> {
        match (self, batch) {
            (Self::Inbox(ours), Batch::Inbox(leases)) => ours.settle(&leases).await,
            (Self::Raw(raw), Batch::Raw(held)) => raw.settle(worker, held).await,
            _ => anyhow::bail!("a batch is settled by the side that leased it"),
        }
    }
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Inbox(leases) => leases.iter().map(|lease| lease.deliveries.len()).sum(),
            Self::Raw(held) => held.iter().map(|held| held.payloads.len()).sum(),
        }
    }

    /// The commands in it, by their numbers.
    pub(crate) fn numbers(&self) -> Result<Vec<usize>> {
        let number = |json: &[u8]| Ok(serde_json::from_slice::<Command>(json)?.number);
        match self {
            Self::Inbox(leases) => {
                let deliveries = leases.iter().flat_map(|lease| &lease.deliveries);
                deliveries.map(|delivery| number(delivery.message.payload.as_bytes())).collect()
            }
            Self::Raw(held) => {
                let payloads = held.iter().flat_map(|held| &held.payloads);
                payloads.map(|payload| number(payload.as_bytes())).collect()
            }
        }
    }
}
