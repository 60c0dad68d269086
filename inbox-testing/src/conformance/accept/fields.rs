use inbox_core::Timestamp;
use inbox_core::message::{Envelope, Headers, Message, Payload};
use inbox_core::store::DeliveryState;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, SECOND, bytes, delayed, envelope, keyed, same_json};

pub async fn every_field_reaches_the_worker(database: &dyn TestDatabase) {
    arrives(database, full("pay")).await;
}

pub async fn each_of_many_keeps_its_own_fields(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("mail", "send").await;
    let late = delayed("mail", SECOND);
    // Some fields are said by one of them, some by none.
    let batch = vec![envelope("mail"), full("pay"), late, envelope("pay"), keyed("pay", "a")];
    let sent: Vec<_> = batch.iter().map(|envelope| envelope.message.clone()).collect();
    bench.accept(batch).await;
    for (sent, is_late) in sent.iter().zip([false, false, true, false, false]) {
        same(&bench.show(sent.id).await.stored.message, sent);
        let waits = bench.state(sent.id).await == DeliveryState::Waiting;
        assert_eq!(waits, is_late, "{}", sent.contract);
    }
}

/// An envelope that says everything.
fn full(contract: &str) -> Envelope {
    let mut envelope = envelope(contract);
    let message = &mut envelope.message;
    let longest =
        |first: char| format!("{first}{}", "ж🦀".repeat(100).chars().take(199).collect::<String>());
    message.version = 7;
    message.headers = [("trace", "abc"), ("ключ", "значение")].into_iter().collect();
    message.idempotency_key = Some(longest('i'));
    message.ordering_key = Some(longest('o'));
    message.concurrency_key = Some(longest('c'));
    message.correlation_id = Some(longest('r'));
    message.causation_id = Some(longest('a'));
    message.tenant = longest('t');
    message.deliver_by = Some(Timestamp::from_micros(1_900_000_000_654_321));
    envelope
}

pub async fn what_was_not_said_is_not_there(database: &dyn TestDatabase) {
    let envelope = envelope("pay");
    assert!(envelope.message.headers.is_empty(), "the plainest message");
    arrives(database, envelope).await;
}

pub async fn a_payload_says_the_same_when_it_comes_back(database: &dyn TestDatabase) {
    // A store may keep JSON in words of its own, but no digit may be lost.
    let (digits, escaped) = ("12345678901234567890.1234567890123", r#""\u00e9é\\\n""#);
    let mut envelope = envelope("pay");
    envelope.message.payload =
        bytes(&format!(" {{\"b\": {digits}, \"a\" :{escaped}, \"\":[ ]}}\n"));
    let (bench, id) = (Bench::open(database).await, envelope.message.id);
    arrives(database, envelope).await;
    let stored = bench.show(id).await.stored.message.payload;
    let stored = String::from_utf8_lossy(stored.as_bytes()).into_owned();
    assert!(stored.contains(digits), "digits were lost: {stored}");
}

pub async fn every_float_is_the_same_when_it_comes_back(database: &dyn TestDatabase) {
    let mut chance = fastrand::Rng::with_seed(7);
    let any = (0..2_000).map(|_| f64::from_bits(chance.u64(..))).filter(|float| float.is_finite());
    let edges =
        [f64::MAX, f64::MIN, f64::MIN_POSITIVE, f64::EPSILON, 0.1, 1.797_693_134_862_315_5e308];
    let floats: Vec<f64> = edges.into_iter().chain(any).collect();
    let mut envelope = envelope("pay");
    envelope.message.payload =
        Payload::encode(&floats).unwrap_or_else(|error| panic!("floats are JSON: {error}"));
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope).await;
    let payload = bench.lease_one("charge").await.delivery.message.payload;
    let back: Vec<f64> = payload.decode().unwrap_or_else(|error| panic!("{error}"));
    let differ = floats.iter().zip(&back).find(|(sent, back)| sent.to_bits() != back.to_bits());
    assert_eq!((back.len(), differ), (floats.len(), None));
}

pub async fn a_payload_of_one_mebibyte_arrives(database: &dyn TestDatabase) {
    let mut envelope = envelope("pay");
    envelope.message.payload = bytes(&format!("\"{}\"", "x".repeat(1024 * 1024 - 2)));
    arrives(database, envelope).await;
}

pub async fn five_hundred_headers_arrive(database: &dyn TestDatabase) {
    let mut envelope = envelope("pay");
    envelope.message.headers =
        (0..500).map(|at| (format!("name-{at}"), format!("ø{at}"))).collect();
    arrives(database, envelope).await;
}

pub async fn a_header_may_be_empty_and_hold_any_character(database: &dyn TestDatabase) {
    let values =
        [("empty", ""), ("quotes", "'\"`\\"), ("lines", "a\r\n\tb"), ("ctrl", "\u{1}\u{7f}")];
    let mut envelope = envelope("pay");
    envelope.message.headers = values.into_iter().collect::<Headers>();
    arrives(database, envelope).await;
}

pub async fn text_is_never_read_as_a_statement(database: &dyn TestDatabase) {
    let text = "'; DELETE FROM message; -- $1 ?1 :a @b %s {} \\' \" ]] NULL";
    let mut envelope = envelope("pay");
    envelope.message.idempotency_key = Some(text.to_owned());
    envelope.message.tenant = String::from(text);
    envelope.message.correlation_id = Some("NULL".to_owned());
    envelope.message.causation_id = Some("{a,\"b\"}".to_owned());
    arrives(database, envelope).await;
}

pub async fn a_deliver_by_keeps_its_microseconds(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for micros in [1_900_000_000_000_001, 999_999, 0, -1, -62_135_596_800_000_000] {
        let mut envelope = envelope("pay");
        envelope.message.deliver_by = Some(Timestamp::from_micros(micros));
        let (id, sent) = (envelope.message.id, envelope.message.clone());
        bench.accept_one(envelope).await;
        same(&bench.show(id).await.stored.message, &sent);
    }
}

/// Accepts it, and looks at what a worker and a person are given.
async fn arrives(database: &dyn TestDatabase, envelope: Envelope) {
    let bench = Bench::open(database).await;
    bench.register(&envelope.message.contract, "charge").await;
    let sent = envelope.message.clone();
    bench.accept_one(envelope).await;
    let mut wanted = crate::conformance::kit::wanted("charge", 1);
    wanted.versions = vec![sent.version];
    let worker = bench.other(database, "host-2").await;
    let held = worker.lease_wanted(vec![wanted]).await;
    assert_eq!(held.len(), 1, "it is ready");
    same(&held[0].delivery.message, &sent);
    same(&bench.show(sent.id).await.stored.message, &sent);
}

/// Field by field, because a message does not show its keys.
fn same(found: &Message, sent: &Message) {
    assert_eq!((found.id, found.version, &found.contract), (sent.id, sent.version, &sent.contract));
    assert!(same_json(&found.payload, &sent.payload), "the payload says something else");
    assert!(found.headers == sent.headers, "the headers are others: {:?}", found.headers);
    assert_eq!(found.idempotency_key, sent.idempotency_key);
    assert_eq!(found.ordering_key, sent.ordering_key);
    assert_eq!(found.concurrency_key, sent.concurrency_key);
    assert_eq!(found.correlation_id, sent.correlation_id);
    assert_eq!(found.causation_id, sent.causation_id);
    assert_eq!(found.tenant, sent.tenant);
    assert_eq!(found.deliver_by, sent.deliver_by);
}
