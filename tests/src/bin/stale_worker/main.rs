//! One worker of two that get at the same delivery: `stale_worker STORE TASK OUTCOME MANNER`.
//!
//! A worker that waits or blocks schedules the task, makes one pass under a short lease, and says
//! `running` when its handler is at work, which goes on when it is sent a line. One that takes makes
//! passes until it has had the whole task; one that holds does the same, and waits in its handler. In
//! the end it prints what its passes did. The words are in `inbox_tests::stale`.

mod tasks;
mod turn;

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use inbox::hosting::PendingReport;
use inbox::postgres::PostgresOptions;
use inbox::store::Store;
use inbox::{Inbox, Request};
use inbox_tests::BoxError;
use inbox_tests::stale::{Manner, Outcome, Task};
use tower::util::MapRequestLayer;

use crate::tasks::schedule;
use crate::turn::{LaterClock, Turn, pause};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    // A panic is part of the test; its trace is not.
    std::panic::set_hook(Box::new(|_| {}));
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("stale_worker STORE TASK OUTCOME MANNER");
    let (store, task) = (next()?, Task::from_str(&next()?)?);
    let turn = Turn { outcome: Outcome::from_str(&next()?)?, manner: Manner::from_str(&next()?)? };
    let report = match store.starts_with("postgres://") {
        true => work_on(PostgresOptions::new().open(&store).await?, task, turn).await?,
        false => work_on(inbox::sqlite::open(store).await?, task, turn).await?,
    };
    println!("{report:?}");
    Ok(())
}

async fn work_on<S: Store>(store: S, task: Task, turn: Turn) -> Result<PendingReport, BoxError> {
    let is_first = matches!(turn.manner, Manner::Waits | Manner::Blocks);
    let mut builder = Inbox::builder(store).lease_duration(match is_first {
        // Short to wait for, and long enough for a busy machine to get from the lease to the handler.
        true => Duration::from_secs(8),
        // Beyond what any clock of this program says.
        false => Duration::from_hours(12),
    });
    if is_first && task == Task::Late {
        // The handler itself is not reached: one cannot be read, and for the other it is too late.
        builder =
            builder.clock(Arc::new(LaterClock)).layer(MapRequestLayer::new(|request: Request| {
                pause();
                request
            }));
    }
    let inbox = builder.state(turn).build().await?;
    if is_first {
        schedule(inbox.scheduler(), task).await?;
        // And nothing that another puts back.
        return Ok(inbox.process_some(task.deliveries()).await?);
    }
    let mut report = PendingReport::default();
    while report.leased < task.deliveries() {
        report += inbox.process_pending().await?;
        // For the other's lease to expire.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(report)
}
