//! What the attributes say reaches the registry, whole and in order.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox::policy::{Backoff, Concurrency, Delays, Jitter};
use inbox::{Batch, Registry, State, handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct PayV1 {
    id: u64,
}

#[inbox_contract(
    name = "pay",
    version = 2,
    upgrades = PayV1,
    idempotency_key = "payment:{id}",
    concurrency_key = "{merchant}",
)]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: u64,
    merchant: String,
}

impl From<PayV1> for Pay {
    fn from(old: PayV1) -> Self {
        Self { id: old.id, merchant: String::new() }
    }
}

#[handler(
    key = "pay",
    legacy = ["charge", "charge-card"],
    timeout = "1m30s",
    max_attempts = 7,
    retry(immediate = 2, backoff = linear, max = "1h", jitter = none),
    concurrency(process = 8, per_key = 1),
    rate = "100/s"
)]
async fn pay(_command: Pay) {}

#[handler(key = "audit", retry(delays = ["1s", "10s"]))]
async fn audit(_command: Pay) {}

#[handler(key = "archive", batch = 50, linger = "20ms", context = "archive")]
async fn archive(_commands: Batch<PayV1>) {}

struct Mailer;

#[handlers]
impl Mailer {
    #[handler(key = "mail")]
    async fn mail(&self, _command: Pay, _limit: State<u8>) {}
}

fn registry() -> Registry {
    Registry::builder().state(Arc::new(Mailer)).state(1_u8).build().unwrap()
}

fn keys<'a>(
    handlers: impl IntoIterator<Item = &'a inbox::registry::RegisteredHandler>,
) -> Vec<&'a str> {
    handlers.into_iter().map(|handler| handler.descriptor().key).collect()
}

#[test]
fn contracts_are_sorted_by_name_and_version() {
    let registry = registry();
    let contracts: Vec<_> =
        registry.contracts().iter().map(|contract| (contract.name, contract.version)).collect();
    assert_eq!(contracts, [("pay", 1), ("pay", 2)]);
}

#[test]
fn handlers_are_sorted_by_key_and_those_of_other_contexts_left_out() {
    assert_eq!(keys(registry().handlers()), ["audit", "mail", "pay"]);
    let archive = Registry::builder().context("archive").build().unwrap();
    assert_eq!(keys(archive.handlers()), ["archive"]);
}

#[test]
fn a_handler_answers_to_its_key_and_its_legacy_keys() {
    let registry = registry();
    for key in ["pay", "charge", "charge-card"] {
        assert_eq!(registry.handler(key).unwrap().descriptor().key, "pay");
    }
    assert!(registry.handler("nothing").is_none());
}

#[test]
fn a_handler_takes_the_versions_its_contract_upgrades() {
    let registry = registry();
    assert_eq!(keys(registry.handlers_of("pay", 1)), ["audit", "mail", "pay"]);
    assert_eq!(keys(registry.handlers_of("pay", 2)), ["audit", "mail", "pay"]);
    assert!(keys(registry.handlers_of("pay", 3)).is_empty());
    let archive = Registry::builder().context("archive").build().unwrap();
    assert!(keys(archive.handlers_of("pay", 2)).is_empty());
}

#[test]
fn every_option_is_kept() {
    let registry = registry();
    let options = &registry.handler("pay").unwrap().descriptor().options;
    assert_eq!(options.timeout, Some(Duration::from_secs(90)));
    assert_eq!(options.max_attempts, NonZeroU32::new(7));
    let (process, per_key) = (NonZeroU32::new(8), NonZeroU32::new(1));
    assert_eq!(options.concurrency, Concurrency { process, fleet: None, per_key });
    let rate = options.rate.unwrap();
    assert_eq!((rate.count.get(), rate.per), (100, Duration::from_secs(1)));
    assert_eq!(options.batch, None);
    let retry = options.retry.as_ref().unwrap();
    assert_eq!((retry.immediate, retry.immediate_delay), (2, Duration::from_millis(200)));
    let delays = Delays::Growing {
        backoff: Backoff::Linear,
        initial: Duration::from_secs(5),
        max: Duration::from_hours(1),
        jitter: Jitter::None,
    };
    assert_eq!(retry.delays, delays);
}

#[test]
fn listed_delays_decide_the_number_of_attempts() {
    let registry = registry();
    let options = &registry.handler("audit").unwrap().descriptor().options;
    assert_eq!(options.max_attempts, NonZeroU32::new(3));
    let delays = vec![Duration::from_secs(1), Duration::from_secs(10)];
    assert_eq!(options.retry.as_ref().unwrap().delays, Delays::Listed(delays.into()));
}

#[test]
fn a_batch_is_kept_with_its_size_and_patience() {
    let archive = Registry::builder().context("archive").build().unwrap();
    let batch = archive.handler("archive").unwrap().descriptor().options.batch.unwrap();
    assert_eq!((batch.size.get(), batch.linger), (50, Duration::from_millis(20)));
}

#[test]
fn each_thing_knows_its_own_attribute() {
    let registry = registry();
    let line_of = |needle: &str| {
        let before = include_str!("registration.rs").split(needle).next().unwrap();
        u32::try_from(before.matches('\n').count() + 1).unwrap()
    };
    let mail = registry.handler("mail").unwrap().descriptor();
    assert_eq!(mail.location.file, "tests/tests/registration.rs");
    assert_eq!(mail.location.line, line_of("#[handler(key = \"mail\")]"));
    assert_eq!(mail.function, "registration::Mailer::mail");
    assert_eq!(registry.contracts()[0].location.line, line_of("#[inbox_contract(name"));
    assert_eq!(registry.contracts()[1].type_name, "Pay");
}

#[test]
fn keys_are_written_from_the_fields() {
    use inbox::Contract;
    let pay = Pay { id: 7, merchant: "shop".to_owned() };
    assert_eq!(pay.idempotency_key().as_deref(), Some("payment:7"));
    assert_eq!(pay.concurrency_key().as_deref(), Some("shop"));
    assert_eq!(pay.ordering_key(), None);
    assert_eq!(Pay::KEYS.idempotency, Some("payment:{id}"));
}
