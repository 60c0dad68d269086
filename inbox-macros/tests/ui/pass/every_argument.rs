use inbox::{Batch, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(
    name = "payments.process-payment",
    version = 1,
    idempotency_key = "payment:{id}",
    ordering_key = "account:{account}",
    concurrency_key = "merchant:{merchant}",
    crate = inbox,
)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64, account: u32, merchant: String }

#[handler(
    key = "pay",
    legacy = ["charge", "charge-v0"],
    timeout = "1m30s",
    max_attempts = 10,
    max_crashes = 5,
    retry(immediate = 3, immediate_delay = "200ms", backoff = linear, initial = "5s", max = "5m", jitter = full),
    concurrency(process = 8, fleet = 100, per_key = 1),
    rate = "100/s",
    context = "billing",
    crate = inbox,
)]
async fn pay(_command: Pay) {}

#[handler(key = "pay-many", batch = 100, linger = "50ms", concurrency = 2, rate = "5/10m", retry(delays = ["1s", "1h"]))]
async fn pay_many(_commands: Batch<Pay>) {}

fn main() {}
