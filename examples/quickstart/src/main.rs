//! cargo run -p quickstart
//!
//! A command, its handler, the registry that knows both, and one run of the handler.

use inbox::dispatch::{CancellationToken, Delivery};
use inbox::schedule::{Limits, prepare};
use inbox::{
    Context, Registry, Request, ScheduleOptions, State, Timestamp, handler, inbox_contract,
};
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

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

#[derive(Clone)]
struct Gateway {
    currency: &'static str,
}

impl Gateway {
    fn charge(&self, payment_id: u64, amount_cents: i64) -> Result<(), String> {
        if amount_cents <= 0 {
            return Err(format!("payment {payment_id} has nothing to charge"));
        }
        println!("charged {amount_cents} {} for payment {payment_id}", self.currency);
        Ok(())
    }
}

#[handler(key = "charge-card", legacy = ["charge"], timeout = "30s", max_attempts = 10)]
async fn charge_card(
    command: ProcessPayment,
    State(gateway): State<Gateway>,
    context: Context,
) -> Result<(), String> {
    println!("attempt {} of message {}", context.attempt(), context.message_id());
    gateway.charge(command.payment_id, command.amount_cents)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // Checks everything that is linked into this binary and lists every mistake.
    let registry = Registry::builder().state(Gateway { currency: "cents" }).build()?;
    for handler in registry.handlers() {
        let descriptor = handler.descriptor();
        println!("`{}` handles `{}`", descriptor.key, descriptor.contract.name);
    }

    for amount_cents in [1999, 0] {
        let command = ProcessPayment { payment_id: 42, amount_cents };
        let envelope = prepare(&command, ScheduleOptions::new(), &Limits::default())?;
        let (message, accepted_at) = (envelope.message, Timestamp::now());
        for handler in registry.handlers_of(&message.contract, message.version) {
            let key = handler.descriptor().key;
            let delivery = Delivery::first(message.clone(), accepted_at, key);
            let request = Request::new(delivery, CancellationToken::new());
            match handler.service().oneshot(request).await {
                Ok(()) => println!("done"),
                Err(error) => println!("{error}: {}", root_cause(&error)),
            }
        }
    }
    Ok(())
}

fn root_cause(error: &dyn std::error::Error) -> &dyn std::error::Error {
    error.source().map_or(error, root_cause)
}
