//! cargo run -p bounded-contexts
//!
//! Billing and shipping in one process. Each has its own store, handlers, options and host; billing
//! schedules into shipping. What is billing's store cannot become shipping's too.

mod billing;
mod shipping;

use std::error::Error;
use std::time::Duration;

use inbox::sqlite::SqliteStore;
use inbox::store::Inspect as _;
use inbox::{Inbox, ScheduleOptions};
use tokio::sync::mpsc;

use billing::{ChargeOrder, ToShipping};
use shipping::Dock;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Two files, two databases or two schemas of one PostgreSQL would do as well.
    let store = inbox::sqlite::in_memory().await?;
    let (dock, mut parcels) = mpsc::unbounded_channel();
    let shipping = Inbox::builder(store).context("shipping").state(Dock(dock.clone()));
    let shipping = shipping.concurrency(2).build().await?;

    let store = inbox::sqlite::in_memory().await?;
    let to_shipping = ToShipping(shipping.scheduler().clone());
    let billing = Inbox::builder(store.clone()).context("billing").state(to_shipping);
    let billing = billing.max_attempts(3).build().await?;

    for order in 1..=3 {
        billing.scheduler().schedule(ChargeOrder { order }, ScheduleOptions::new()).await?;
    }
    let hosts = (billing.start()?, shipping.start()?);
    for _ in 1..=3 {
        parcels.recv().await;
    }
    // Handlers that are at work finish, and what they did is settled.
    let patience = Duration::from_mins(10);
    tokio::join!(hosts.0.shutdown(patience), hosts.1.shutdown(patience));
    print_counts("billing", &billing).await?;
    print_counts("shipping", &shipping).await?;

    match Inbox::builder(store).context("shipping").state(Dock(dock)).build().await {
        Ok(_) => Err("two contexts share one store".into()),
        Err(reason) => {
            println!("shipping on the store of billing is refused: {reason}");
            Ok(())
        }
    }
}

async fn print_counts(context: &str, inbox: &Inbox<SqliteStore>) -> Result<(), inbox::Error> {
    for of in inbox.store().counts().await? {
        let key = of.handler_key.unwrap_or_default();
        println!("{context} has {} of `{key}` that are {}", of.count, of.state);
    }
    Ok(())
}
