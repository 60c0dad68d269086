use std::time::Duration;

use inbox::store::Store;
use inbox::{Batch, ScheduleOptions, Scheduler, State, Timestamp, handler, inbox_contract};
use inbox_tests::BoxError;
use inbox_tests::stale::Task;
use serde::{Deserialize, Serialize};

use crate::turn::Turn;

#[inbox_contract(name = "one", version = 1)]
#[derive(Serialize, Deserialize)]
struct One {}

#[handler(key = "one", retry(initial = "1h"))]
async fn one(_command: One, turn: State<Turn>) -> Result<(), String> {
    turn.run().await
}

#[inbox_contract(name = "last", version = 1)]
#[derive(Serialize, Deserialize)]
struct Last {}

#[handler(key = "last", max_attempts = 1)]
async fn last(_command: Last, turn: State<Turn>) -> Result<(), String> {
    turn.run().await
}

#[inbox_contract(name = "many", version = 1)]
#[derive(Serialize, Deserialize)]
struct Many {}

#[handler(key = "many", batch = 2, retry(initial = "1h"))]
async fn many(_commands: Batch<Many>, turn: State<Turn>) -> Result<(), String> {
    turn.run().await
}

/// A negative one can be scheduled and not be read.
#[inbox_contract(name = "late", version = 1)]
#[derive(Serialize, Deserialize)]
struct Late {
    number: Number,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
struct Number(i64);

impl From<Number> for i64 {
    fn from(number: Number) -> Self {
        number.0
    }
}

impl TryFrom<i64> for Number {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Self, &'static str> {
        if number < 0 { Err("it is negative") } else { Ok(Self(number)) }
    }
}

#[handler(key = "late", batch = 2, retry(initial = "1h"))]
async fn late(_commands: Batch<Late>, turn: State<Turn>) -> Result<(), String> {
    turn.run().await
}

pub(crate) async fn schedule<S: Store>(
    scheduler: &Scheduler<S>,
    task: Task,
) -> Result<(), BoxError> {
    let plain = ScheduleOptions::new;
    let limited = || plain().deliver_by(Timestamp::now().saturating_add(Duration::from_mins(30)));
    let receipts = match task {
        Task::One => scheduler.schedule_all([(One {}, plain())]).await?,
        Task::Last => scheduler.schedule_all([(Last {}, plain())]).await?,
        Task::Many => scheduler.schedule_all([(Many {}, plain()), (Many {}, plain())]).await?,
        Task::Late => {
            let late = |number| Late { number: Number(number) };
            scheduler.schedule_all([(late(-1), plain()), (late(1), limited())]).await?
        }
    };
    for receipt in receipts {
        receipt?;
    }
    Ok(())
}
