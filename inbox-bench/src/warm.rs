//! An emptied table makes every connection plan its statements anew. That happens here, before the
//! clock runs, with a round of what is measured next.

use anyhow::Result;
use futures_util::future::try_join_all;

use crate::contract::Command;
use crate::side::{Side, TASKS};

/// Schedules on all connections at once.
pub(crate) async fn schedule(side: &Side) -> Result<()> {
    try_join_all((0..TASKS).map(|task| side.schedule(task, Command::new(task)))).await?;
    Ok(())
}

/// The same in bulk.
pub(crate) async fn schedule_all(side: &Side) -> Result<()> {
    let two = || (0..2).map(Command::new).collect();
    try_join_all((0..TASKS).map(|_| side.schedule_all(two()))).await?;
    Ok(())
}

/// Leases and settles on one connection after the other.
pub(crate) async fn work(side: &Side) -> Result<()> {
    for worker in 0..TASKS {
        side.schedule(worker, Command::new(0)).await?;
        let batch = side.lease(worker).await?;
        side.settle(worker, batch).await?;
    }
    Ok(())
}
