//! Payloads that are stored as something else than what handlers see.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use inbox::dispatch::BoxError;
use inbox::message::Payload;
use inbox::schedule::{About, Codec, ScheduleError, prepare};
use inbox::store::DeliveryState;
use inbox::testing::{TestInbox, assert_scheduled};
use inbox::{Acceptance, ScheduleOptions, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "secret", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
struct Secret {
    id: u64,
    words: BTreeMap<String, String>,
}

#[handler(key = "secret", max_attempts = 2)]
async fn secret(command: Secret) -> Result<(), String> {
    match command.words.get("pin").map(String::as_str) {
        Some("1234") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

fn command() -> Secret {
    Secret { id: 1, words: [("pin".to_owned(), "1234".to_owned())].into() }
}

/// Never writes the same twice, as a cipher with a nonce does.
#[derive(Clone, Default)]
struct Cipher {
    nonce: Arc<AtomicU8>,
    has_no_key: Arc<AtomicBool>,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    nonce: u8,
    about: String,
    bytes: Vec<u8>,
}

impl Codec for Cipher {
    fn encode(&self, about: &About<'_>, payload: Payload) -> Result<Payload, BoxError> {
        let nonce = self.nonce.fetch_add(1, Ordering::SeqCst);
        let bytes = payload.as_bytes().iter().map(|byte| byte ^ nonce).collect();
        Ok(Payload::encode(&Sealed { nonce, about: format!("{about:?}"), bytes })?)
    }

    fn decode(&self, about: &About<'_>, payload: Payload) -> Result<Payload, BoxError> {
        if self.has_no_key.load(Ordering::SeqCst) {
            return Err("the key is not there yet".into());
        }
        let Sealed { nonce, about: sealed_about, bytes } = payload.decode()?;
        if sealed_about != format!("{about:?}") {
            return Err("the payload belongs to another message".into());
        }
        Ok(Payload::from_bytes(bytes.iter().map(|byte| byte ^ nonce).collect()))
    }
}

async fn inbox(codec: impl Codec) -> TestInbox {
    TestInbox::builder().with(|inbox| inbox.codec(codec)).build().await.unwrap()
}

#[tokio::test]
async fn what_is_stored_is_encoded_and_the_handler_sees_it_plain() {
    let inbox = inbox(Cipher::default()).await;
    let id = inbox.schedule(command()).await.message_id();
    let stored = inbox.status(id).await.stored.message.payload;
    let text = String::from_utf8(stored.as_bytes().to_vec()).unwrap();
    assert!(text.contains("nonce") && !text.contains("1234"), "{text}");
    assert_scheduled!(inbox, Secret { words, .. } if words["pin"] == "1234");
    assert_eq!(inbox.drain().await.completed, 1);
}

#[tokio::test]
async fn a_duplicate_is_compared_by_what_it_says_not_by_how_it_is_encoded() {
    let inbox = inbox(Cipher::default()).await;
    inbox.schedule(command()).await;
    let again = inbox.schedule(command()).await;
    assert_eq!(again.acceptance(), Acceptance::AlreadyAccepted { payload_matches: true });
    let other = inbox.schedule(Secret { id: 1, words: BTreeMap::new() }).await;
    assert_eq!(other.acceptance(), Acceptance::AlreadyAccepted { payload_matches: false });
}

#[tokio::test]
async fn a_key_that_comes_late_costs_an_attempt_and_not_the_message() {
    let cipher = Cipher::default();
    let inbox = inbox(cipher.clone()).await;
    let id = inbox.schedule(command()).await.message_id();
    cipher.has_no_key.store(true, Ordering::SeqCst);
    assert_eq!(inbox.drain().await.retried, 1);
    let waiting = inbox.status(id).await.deliveries.remove(0);
    assert_eq!(waiting.state, DeliveryState::Waiting);
    assert!(waiting.error.unwrap().ends_with("the key is not there yet"));
    cipher.has_no_key.store(false, Ordering::SeqCst);
    inbox.advance(Duration::from_mins(1));
    assert_eq!(inbox.drain().await.completed, 1);
}

#[inbox_contract(name = "hurried", version = 1)]
#[derive(Serialize, Deserialize)]
struct Hurried;

#[handler(key = "hurried", retry(immediate = 3), max_attempts = 2)]
async fn hurried(_command: Hurried) {}

#[tokio::test]
async fn a_codec_that_fails_costs_an_attempt_also_where_a_handler_is_repeated_at_once() {
    let cipher = Cipher::default();
    let inbox = inbox(cipher.clone()).await;
    inbox.schedule(Hurried).await;
    cipher.has_no_key.store(true, Ordering::SeqCst);
    assert_eq!(inbox.drain().await.retried, 1);
    inbox.advance(Duration::from_hours(1));
    assert_eq!(inbox.drain().await.dead, 1);
}

#[tokio::test]
async fn an_envelope_that_was_prepared_without_the_codec_is_encoded_when_it_is_accepted() {
    let inbox = inbox(Cipher::default()).await;
    let scheduler = inbox.inbox().scheduler();
    let plain = prepare(&command(), ScheduleOptions::new(), scheduler.limits());
    let receipts = scheduler.accept_all(vec![plain]).await.unwrap();
    let id = receipts[0].as_ref().unwrap().message_id();
    let stored = inbox.status(id).await.stored.message.payload;
    assert!(!String::from_utf8_lossy(stored.as_bytes()).contains("1234"));
    assert_eq!(inbox.drain().await.completed, 1);
}

struct NoJson;

impl Codec for NoJson {
    fn encode(&self, _: &About<'_>, _: Payload) -> Result<Payload, BoxError> {
        Ok(Payload::from_bytes(Vec::new()))
    }

    fn decode(&self, _: &About<'_>, _: Payload) -> Result<Payload, BoxError> {
        panic!("never asked")
    }
}

#[tokio::test]
async fn a_codec_that_answers_no_json_is_refused_before_anything_is_stored() {
    let inbox = inbox(NoJson).await;
    let refused = inbox.inbox().scheduler().schedule(command(), ScheduleOptions::new()).await;
    let ScheduleError::Codec { error, .. } = refused.unwrap_err() else { panic!("accepted") };
    assert_eq!(error.to_string(), "what it answered is no JSON: put bytes into a string");
}

struct Panics;

impl Codec for Panics {
    fn encode(&self, _: &About<'_>, payload: Payload) -> Result<Payload, BoxError> {
        Ok(payload)
    }

    fn decode(&self, _: &About<'_>, _: Payload) -> Result<Payload, BoxError> {
        panic!("no cipher today")
    }
}

#[tokio::test]
async fn a_codec_that_panics_has_failed() {
    let inbox = inbox(Panics).await;
    let id = inbox.schedule(command()).await.message_id();
    assert_eq!(inbox.drain().await.retried, 1);
    let error = inbox.status(id).await.deliveries.remove(0).error.unwrap();
    assert!(error.contains("no cipher today"), "{error}");
}
