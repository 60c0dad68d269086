use std::time::Instant;

use anyhow::Result;
use futures_util::future::try_join_all;
use inbox::ScheduleOptions;

use crate::contract::Command;
use crate::place::Place;
use crate::raw;
use crate::report::Report;

fn json(number: u64) -> String {
    serde_json::to_string(&Command::new(number)).unwrap_or_default()
}

/// One command after the other, on one connection.
pub(crate) async fn one_by_one(place: &Place, report: &mut Report) -> Result<()> {
    const COUNT: u64 = 1_000;
    place.clear().await?;
    let began = Instant::now();
    for number in 0..COUNT {
        place.scheduler.schedule(Command::new(number), ScheduleOptions::new()).await?;
    }
    report.add("schedule, one by one", COUNT, began.elapsed());
    let client = place.connect().await?;
    let insert = client.prepare(raw::INSERT).await?;
    let began = Instant::now();
    for number in 0..COUNT {
        client.query_one(&insert, &[&json(number)]).await?;
    }
    report.add_raw("schedule, one by one", COUNT, began.elapsed());
    Ok(())
}

/// Sixteen tasks at once.
pub(crate) async fn by_sixteen(place: &Place, report: &mut Report) -> Result<()> {
    const TASKS: u64 = 16;
    const EACH: u64 = 300;
    place.clear().await?;
    let began = Instant::now();
    try_join_all((0..TASKS).map(|_| {
        let scheduler = place.scheduler.clone();
        async move {
            for number in 0..EACH {
                scheduler.schedule(Command::new(number), ScheduleOptions::new()).await?;
            }
            anyhow::Ok(())
        }
    }))
    .await?;
    report.add("schedule, 16 tasks", TASKS * EACH, began.elapsed());
    let mut clients = Vec::new();
    for _ in 0..TASKS {
        clients.push(place.connect().await?);
    }
    let began = Instant::now();
    try_join_all(clients.iter().map(|client| async move {
        let insert = client.prepare(raw::INSERT).await?;
        for number in 0..EACH {
            client.query_one(&insert, &[&json(number)]).await?;
        }
        anyhow::Ok(())
    }))
    .await?;
    report.add_raw("schedule, 16 tasks", TASKS * EACH, began.elapsed());
    Ok(())
}

/// A thousand in one call.
pub(crate) async fn by_thousand(place: &Place, report: &mut Report) -> Result<()> {
    const CALLS: u64 = 20;
    const EACH: u64 = 1_000;
    place.clear().await?;
    let began = Instant::now();
    for _ in 0..CALLS {
        fill(place, EACH).await?;
    }
    report.add("schedule, by 1,000", CALLS * EACH, began.elapsed());
    let client = place.connect().await?;
    let insert = client.prepare(raw::INSERT_MANY).await?;
    let began = Instant::now();
    for _ in 0..CALLS {
        let payloads: Vec<_> = (0..EACH).map(json).collect();
        client.query(&insert, &[&payloads]).await?;
    }
    report.add_raw("schedule, by 1,000", CALLS * EACH, began.elapsed());
    Ok(())
}

/// Stores `count` commands in one call.
pub(crate) async fn fill(place: &Place, count: u64) -> Result<()> {
    let commands = (0..count).map(|number| (Command::new(number), ScheduleOptions::new()));
    let answers = place.scheduler.schedule_all(commands.collect::<Vec<_>>()).await?;
    for answer in answers {
        answer?;
    }
    Ok(())
}
