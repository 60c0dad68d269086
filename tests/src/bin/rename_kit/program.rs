//! What both programs do: schedule one command after the other while their host works off what is due,
//! until their input ends. Runs are noted in a ledger.
//!
//! `PROGRAM STORE DIRECTORY FIRST`: commands are numbered from FIRST. The file `phase` in the directory
//! says what the fleet is at. What was scheduled within one phase, from before the call to after it, is
//! noted in `notes`; while the phase is `over`, nothing is scheduled.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use inbox::postgres::PostgresOptions;
use inbox::testing::ledger::Ledger;
use inbox::{Inbox, ScheduleOptions, inbox_contract};
use inbox_tests::BoxError;
use inbox_tests::phase::Phases;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "rename.pay", version = 1, idempotency_key = "{number}")]
#[derive(Serialize, Deserialize)]
pub(crate) struct Pay {
    pub(crate) number: u64,
}

pub(crate) async fn run() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("PROGRAM STORE DIRECTORY FIRST");
    let (store, directory, first) = (next()?, PathBuf::from(next()?), next()?);
    let (phases, ledger) = (Phases::in_directory(&directory), directory.join("ledger"));
    let ledger = Ledger::open(ledger)?;
    let store = PostgresOptions::new().connections(4).open(&store).await?;
    let inbox = Inbox::builder(store)
        .lease_duration(Duration::from_secs(5))
        .layer(ledger.layer())
        .build()
        .await?;
    let host = inbox.start()?;
    // Its route is registered.
    std::io::stdout().write_all(b"ready\n")?;
    let over = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let mut numbers = first.parse::<u64>()?..;
    while !over.is_finished() {
        let before = phases.now()?;
        if !before.is_over() {
            let Some(number) = numbers.next() else { break };
            let receipt =
                inbox.scheduler().schedule(Pay { number }, ScheduleOptions::new()).await?;
            ledger.accepted(&receipt, None);
            phases.note_since(&before, &receipt.message_id().to_string(), &first)?;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    host.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
