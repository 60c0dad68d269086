//! A process that one of its commands kills: `poisoned_worker FILE DEATHS`. Works until its input ends, or the
//! command comes. By its clock, so many hours have passed as there were deaths before: the leases of those
//! who died have expired, and its own never do, however slow the machine is.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use inbox::store::{Clock, Maintain as _, Now};
use inbox::{Inbox, Timestamp, handler, inbox_contract};
use inbox_tests::BoxError;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "eat", version = 1)]
#[derive(Serialize, Deserialize)]
struct Eat {
    is_poison: bool,
    naps: bool,
}

#[handler(key = "eat", on_dead = skip)]
async fn eat(command: Eat) {
    if command.is_poison {
        std::process::abort();
    }
    if command.naps {
        // So that others are at work when it happens.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

struct HoursLater {
    hours: u64,
}

impl Clock for HoursLater {
    fn now(&self) -> Now {
        Now::At(Timestamp::now().saturating_add(Duration::from_hours(self.hours)))
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("poisoned_worker FILE DEATHS");
    let (store, hours) = (inbox::sqlite::open(next()?).await?, next()?.parse()?);
    let clock = Arc::new(HoursLater { hours });
    // A host does so too, but not before living hosts have had the time to renew their leases.
    store.reclaim(1_000, clock.now()).await?;
    let builder = Inbox::builder(store).lease_duration(Duration::from_mins(30));
    let host = builder.clock(clock).build().await?.start()?;
    let over = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    over.await??;
    host.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
