use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::try_join_all;
use inbox::postgres::PostgresStore;
use inbox::settle::{DoneOutcome, Settlement};
use inbox::store::{LeaseRequest, LeaseStore as _, Now, Settle, StateStore as _, Wanted};

use crate::contract::HANDLER;
use crate::place::Place;
use crate::raw;
use crate::report::Report;
use crate::schedule::fill;

const COUNT: u64 = 50_000;
const WORKERS: usize = 2;
const BATCH: u32 = 500;

/// Two workers lease and settle until nothing is left.
pub(crate) async fn plain(place: &Place, report: &mut Report) -> Result<()> {
    measure(place, report, "drain, 2 workers").await
}

/// The same while someone holds a transaction open, so that nothing can be vacuumed.
pub(crate) async fn while_a_transaction_is_open(place: &Place, report: &mut Report) -> Result<()> {
    let client = place.connect().await?;
    let open = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM inbox.route";
    client.batch_execute(open).await?;
    measure(place, report, "drain, xmin pinned").await?;
    client.batch_execute("ROLLBACK").await?;
    Ok(())
}

async fn measure(place: &Place, report: &mut Report, name: &'static str) -> Result<()> {
    place.clear().await?;
    for _ in 0..COUNT / 1_000 {
        fill(place, 1_000).await?;
    }
    let began = Instant::now();
    try_join_all((0..WORKERS).map(|_| work(&place.store))).await?;
    report.add(name, COUNT, began.elapsed());

    let filler = place.connect().await?;
    let payload = "{\"number\": 1, \"text\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}";
    let rows = "INSERT INTO raw_job (payload) SELECT $1::text::jsonb FROM generate_series(1, $2)";
    filler.execute(rows, &[&payload, &i32::try_from(COUNT)?]).await?;
    let began = Instant::now();
    try_join_all((0..WORKERS).map(|_| raw_work(place))).await?;
    report.add_raw(name, COUNT, began.elapsed());
    Ok(())
}

async fn work(store: &PostgresStore) -> Result<()> {
    let limit = NonZeroU32::MIN.saturating_add(BATCH - 1);
    let wanted =
        Wanted { handler_key: HANDLER.to_owned(), versions: vec![1], limit, max_attempts: limit };
    let duration = Duration::from_mins(1);
    let request = LeaseRequest { host: "bench".to_owned(), duration, wanted: vec![wanted] };
    loop {
        let leases = store.lease(request.clone(), Now::OfStore).await?;
        let settles: Vec<_> = leases
            .iter()
            .flat_map(|lease| {
                lease.deliveries.iter().map(|delivery| Settle {
                    token: lease.token,
                    message_id: delivery.message.id,
                    settlement: Settlement::Done(DoneOutcome::Completed),
                })
            })
            .collect();
        if settles.is_empty() {
            return Ok(());
        }
        store.settle(settles, Now::OfStore).await?;
    }
}

async fn raw_work(place: &Place) -> Result<()> {
    let client = place.connect().await?;
    let (claim, done) = (client.prepare(raw::CLAIM).await?, client.prepare(raw::DONE).await?);
    loop {
        let rows = client.query(&claim, &[&i64::from(BATCH)]).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        client.execute(&done, &[&ids]).await?;
    }
}
