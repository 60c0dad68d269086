//! A process whose handler does not end by itself: `stubborn_worker FILE`. Says what happens, a word on
//! a line, and ends when the host has.

use std::time::Duration;

use inbox::hosting::{Event, Observer};
use inbox::{Inbox, ScheduleOptions, handler, inbox_contract, shutdown_signal};
use inbox_tests::BoxError;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "wait", version = 1)]
#[derive(Serialize, Deserialize)]
struct Wait;

#[handler(key = "wait")]
async fn wait(_: Wait) {
    println!("begun");
    std::future::pending::<()>().await;
}

struct Narrator;

impl Observer for Narrator {
    fn notice(&self, event: &Event) {
        match event {
            Event::Stopping => println!("stopping"),
            Event::Stopped => println!("stopped"),
            _ => {}
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let file = std::env::args().nth(1).ok_or("stubborn_worker FILE")?;
    let store = inbox::sqlite::open(file).await?;
    let builder = Inbox::builder(store).observer(Narrator);
    let inbox = builder.shutdown_timeout(Duration::from_hours(1)).build().await?;
    inbox.scheduler().schedule(Wait, ScheduleOptions::new()).await?;
    inbox.run_until(shutdown_signal()).await?;
    Ok(())
}
