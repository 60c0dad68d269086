//! cargo run -p quickstart
//!
//! A payment is accepted, a duplicate recognised, a failure retried, a hopeless one given up.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox::sqlite::SqliteStore;
use inbox::store::{DeliveryCount, Inspect as _};
use inbox::{Acceptance, Context, Inbox, ScheduleOptions, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(
    name = "payments.process-payment",
    version = 1,
    idempotency_key = "payment:{payment_id}"
)]
#[derive(Serialize, Deserialize)]
struct ProcessPayment {
    payment_id: u64,
    amount_cents: i64,
}

/// Does not answer the first time it is asked about a payment.
#[derive(Clone, Default)]
struct Gateway {
    asked: Arc<Mutex<HashSet<u64>>>,
}

impl Gateway {
    async fn charge(&self, payment_id: u64, amount_cents: i64) -> Result<(), String> {
        if amount_cents <= 0 {
            return Err("there is nothing to charge".to_owned());
        }
        let asked_before = !self.asked.lock().map_err(|_| "poisoned")?.insert(payment_id);
        if asked_before { Ok(()) } else { Err("the gateway does not answer".to_owned()) }
    }
}

#[handler(key = "charge-card", max_attempts = 2, retry(initial = "100ms"))]
async fn charge_card(
    command: ProcessPayment,
    State(gateway): State<Gateway>,
    context: Context,
) -> Result<(), String> {
    let ProcessPayment { payment_id, amount_cents } = command;
    let outcome = gateway.charge(payment_id, amount_cents).await;
    println!("payment {payment_id}, attempt {}: {outcome:?}", context.attempt());
    outcome
}

#[tokio::main]
async fn main() -> Result<(), inbox::Error> {
    // A file would do as well: `inbox::sqlite::open("inbox.db")`.
    let store = inbox::sqlite::in_memory().await?;
    let inbox = Inbox::builder(store).state(Gateway::default()).build().await?;

    let mut messages = Vec::new();
    for (payment_id, amount_cents) in [(42, 1999), (42, 1999), (43, 0)] {
        let command = ProcessPayment { payment_id, amount_cents };
        let receipt = inbox.scheduler().schedule(command, ScheduleOptions::new()).await?;
        println!("payment {payment_id}: {:?} as {}", receipt.acceptance(), receipt.message_id());
        if receipt.acceptance() == Acceptance::Accepted {
            messages.push(receipt.message_id());
        }
    }

    // The host leases what is due, runs the handlers and settles. A service would go on until
    // `inbox::shutdown_signal()`; this program ends when nothing is left to do.
    inbox.run_until(everything_is_settled(&inbox)).await?;

    for id in messages {
        for delivery in inbox.status(id).await?.into_iter().flat_map(|status| status.deliveries) {
            let error = delivery.error.map_or(String::new(), |error| format!(": {error}"));
            println!("{id} is {} after {} attempts{error}", delivery.state, delivery.attempts);
        }
    }
    Ok(())
}

async fn everything_is_settled(inbox: &Inbox<SqliteStore>) {
    let is_open = |of: &DeliveryCount| !of.state.is_terminal();
    while inbox.store().counts().await.is_ok_and(|counts| counts.iter().any(is_open)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
