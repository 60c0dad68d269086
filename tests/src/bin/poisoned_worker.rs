//! A process that one of its commands kills: `poisoned_worker FILE`. Works until its input ends, or the
//! command comes.

use std::io::Read as _;
use std::time::Duration;

use inbox::{Inbox, handler, inbox_contract};
use inbox_tests::BoxError;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "eat", version = 1)]
#[derive(Serialize, Deserialize)]
struct Eat {
    is_poison: bool,
}

#[handler(key = "eat", max_attempts = 3)]
async fn eat(command: Eat) {
    if command.is_poison {
        std::process::abort();
    }
    // So that others are at work when it happens.
    tokio::time::sleep(Duration::from_millis(2)).await;
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let file = std::env::args().nth(1).ok_or("poisoned_worker FILE")?;
    let store = inbox::sqlite::open(file).await?;
    let builder = Inbox::builder(store).lease_duration(Duration::from_millis(500));
    let host = builder.build().await?.start()?;
    let over = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    over.await??;
    host.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
