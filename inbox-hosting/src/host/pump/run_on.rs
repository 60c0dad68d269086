use std::sync::Arc;

use inbox_core::dispatch::Pipeline;
use inbox_core::request::{Attempt, LaneRun};
use inbox_core::store::Store;
use tokio::time::Instant;

use super::calls::Teller;
use super::queue::SLICE;
use super::run::{Finished, run};
use super::runs::After;
use crate::host::shared::Shared;

/// What came of a call, and of those that followed it in the same task.
#[derive(Debug)]
pub(super) struct RanOn {
    /// What came of the last one.
    pub(super) last: Finished,
    /// What follows in the run and was not begun.
    pub(super) behind: Vec<Attempt>,
}

/// Calls the handler for these deliveries and then, one after the other, for those `behind` them in their
/// run: for as long as that goes on, and is quick. The end of each is told at once.
pub(super) async fn run_on<S: Store>(
    shared: Arc<Shared<S>>,
    pipeline: Arc<Pipeline>,
    attempts: Vec<Attempt>,
    behind: Vec<Attempt>,
    teller: Teller,
) -> RanOn {
    let began = Instant::now();
    let mut behind = behind.into_iter();
    let mut last = run(&shared, &pipeline, attempts).await;
    while goes_on(&last, &pipeline) && began.elapsed() < SLICE && !shared.stop.is_asked() {
        let Some(next) = behind.next() else { break };
        teller.tell(last);
        // A handler that never waits would keep its thread from everyone else.
        tokio::task::consume_budget().await;
        last = run(&shared, &pipeline, vec![next]).await;
    }
    RanOn { last, behind: behind.collect() }
}

fn goes_on(last: &Finished, pipeline: &Pipeline) -> bool {
    let [decided] = &last.decided[..] else { return false };
    let is_lost = decided.run.as_ref().is_none_or(LaneRun::is_lost);
    !is_lost && After::of(decided, pipeline) == After::GoesOn
}
