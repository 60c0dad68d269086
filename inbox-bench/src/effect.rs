use std::time::Instant;

use anyhow::Result;
use futures_util::future::try_join_all;
use inbox::dispatch::BoxError;
use inbox::postgres::Transaction;
use inbox::{ScheduleOptions, State, handler};

use crate::contract::Effect;
use crate::host::{self, Calls};
use crate::measure::{Measure, per_second};
use crate::place::Place;
use crate::raw::Raw;
use crate::report::Report;
use crate::side::{Side, TASKS};
use crate::warm;

const COUNT: i64 = 3_000;

#[handler(key = "bench.effect")]
async fn effect(
    command: Effect,
    tx: &mut Transaction,
    State(calls): State<Calls>,
) -> Result<(), BoxError> {
    let insert = tx.prepare_cached("INSERT INTO effect (number) VALUES ($1)").await?;
    tx.execute(&insert, &[&command.number]).await?;
    calls.note(0);
    Ok(())
}

/// Each writes a row in the transaction that settles it; beside tasks in raw SQL that take one, write and settle
/// in a transaction.
pub(crate) async fn in_a_transaction(
    place: &Place,
    round: usize,
    report: &mut Report,
) -> Result<()> {
    const MEASURE: Measure = Measure::rate("drain, effects in transactions");
    let count = usize::try_from(COUNT)?;
    for side in place.sides(round) {
        place.clear().await?;
        warm::work(side).await?;
        let took = match &**side {
            Side::Inbox(ours) => {
                let calls = Calls::counted(count);
                let inbox = host::build(ours.store(), &["bench.effect"], &calls).await?;
                let effects = (0..COUNT).map(|number| (Effect { number }, ScheduleOptions::new()));
                for receipt in inbox.scheduler().schedule_all(effects.collect::<Vec<_>>()).await? {
                    receipt?;
                }
                host::work_off(&inbox, &calls).await?
            }
            Side::Raw(raw) => {
                place.fill(count).await?;
                let began = Instant::now();
                try_join_all((0..TASKS).map(|task| take_all(raw, task))).await?;
                began.elapsed()
            }
        };
        place.done().await?;
        report.add(MEASURE, side, per_second(count, took));
    }
    Ok(())
}

async fn take_all(raw: &Raw, task: usize) -> Result<()> {
    while raw.take_effect(task).await? {}
    Ok(())
}
