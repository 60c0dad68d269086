//! A command becomes an envelope that every store can keep, or an error that says what to change.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::collections::BTreeMap;
use std::time::Duration;

use inbox::schedule::{Limits, OnConflict, Priority, ScheduleError, Start, prepare};
use inbox::{Context, Registry, ScheduleOptions, State, Timestamp, handler, inbox_contract};
use inbox_tests::deliver::{delivery, run};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[inbox_contract(
    name = "note",
    version = 3,
    idempotency_key = "note:{text}",
    ordering_key = "{text}",
    concurrency_key = "all"
)]
#[derive(Serialize, Deserialize)]
struct Note {
    text: String,
}

#[inbox_contract(name = "map", version = 1)]
#[derive(Serialize, Deserialize)]
struct Map(BTreeMap<Vec<u8>, u8>);

fn note(text: impl Into<String>) -> Note {
    Note { text: text.into() }
}

fn refused(text: &str, options: ScheduleOptions) -> String {
    prepare(&note(text), options, &Limits::default()).unwrap_err().to_string()
}

#[test]
fn the_contract_gives_the_keys_and_options_win_over_them() {
    let plain = prepare(&note("a"), ScheduleOptions::new(), &Limits::default()).unwrap();
    assert_eq!((plain.message.contract.as_str(), plain.message.version), ("note", 3));
    assert_eq!(plain.message.payload.as_bytes(), br#"{"text":"a"}"#);
    assert_eq!(plain.message.idempotency_key.as_deref(), Some("note:a"));
    assert_eq!(plain.message.ordering_key.as_deref(), Some("a"));
    assert_eq!(plain.message.concurrency_key.as_deref(), Some("all"));
    assert_eq!((plain.start, plain.priority), (Start::Immediately, Priority::Normal));
    assert_eq!(plain.on_conflict, OnConflict::KeepFirst);

    let moment = Timestamp::from_micros(7);
    let options = ScheduleOptions::new()
        .idempotency_key("mine")
        .ordering_key("order")
        .at(moment)
        .deliver_by(moment)
        .priority(Priority::Urgent)
        .correlation_id("c1")
        .causation_id("c2")
        .tenant("acme")
        .header("trace", "first")
        .header("trace", "second")
        .on_conflict(OnConflict::Refuse);
    let chosen = prepare(&note("a"), options, &Limits::default()).unwrap();
    assert_eq!(chosen.message.idempotency_key.as_deref(), Some("mine"));
    assert_eq!(chosen.message.ordering_key.as_deref(), Some("order"));
    assert_eq!((chosen.start, chosen.message.deliver_by), (Start::At(moment), Some(moment)));
    assert_eq!((chosen.priority, chosen.on_conflict), (Priority::Urgent, OnConflict::Refuse));
    assert_eq!(chosen.message.correlation_id.as_deref(), Some("c1"));
    assert_eq!(chosen.message.causation_id.as_deref(), Some("c2"));
    assert_eq!(
        (chosen.message.tenant.as_str(), chosen.message.headers.get("trace")),
        ("acme", Some("second"))
    );
    assert_ne!(plain.message.id, chosen.message.id);
}

#[test]
fn keys_of_200_characters_of_any_script_pass_and_201_do_not() {
    let longest = ScheduleOptions::new().idempotency_key("ключ".repeat(50));
    assert!(prepare(&note("a"), longest, &Limits::default()).is_ok());
    let longer = ScheduleOptions::new().idempotency_key("x".repeat(201));
    assert_eq!(
        refused("a", longer),
        "the idempotency key of a message of contract `note` has 201 characters, more than 200: \
         shorten it, a hash of it for instance"
    );
    // The contract's own key counts too.
    assert!(refused(&"x".repeat(201), ScheduleOptions::new()).starts_with("the idempotency key"));
}

#[test]
fn empty_keys_and_ids_are_refused_and_an_empty_tenant_is_none() {
    let new = ScheduleOptions::new;
    for (options, what) in [
        (new().idempotency_key(""), "idempotency key"),
        (new().ordering_key(""), "ordering key"),
        (new().correlation_id(""), "correlation id"),
        (new().causation_id(""), "causation id"),
        (new().header("", "value"), "name of a header"),
    ] {
        let expected =
            format!("the {what} of a message of contract `note` is empty: leave it out instead");
        assert_eq!(refused("a", options), expected);
    }
    assert!(prepare(&note("a"), new().tenant(""), &Limits::default()).is_ok());
}

#[test]
fn a_payload_of_the_limit_passes_and_one_byte_more_does_not() {
    let options = || ScheduleOptions::new().idempotency_key("k").ordering_key("k");
    let limits = Limits { payload: 1_000, ..Limits::default() };
    let wrapping = r#"{"text":""}"#.len();
    assert!(prepare(&note("x".repeat(1_000 - wrapping)), options(), &limits).is_ok());
    let error = prepare(&note("x".repeat(1_001 - wrapping)), options(), &limits).unwrap_err();
    assert!(matches!(error, ScheduleError::TooLarge { size: 1_001, limit: 1_000, .. }), "{error}");
    let ten_mebibytes = note("x".repeat(10 * 1024 * 1024));
    assert!(prepare(&ten_mebibytes, options(), &Limits::default()).is_err());
}

#[test]
fn headers_have_a_limit_together() {
    let options = (0..17).fold(ScheduleOptions::new(), |options, at| {
        options.header(format!("h{at}"), "x".repeat(1024))
    });
    assert!(
        refused("a", options).starts_with("the headers of a message of contract `note`: too large")
    );
}

#[test]
fn a_nul_character_is_refused_wherever_it_stands() {
    let new = ScheduleOptions::new;
    let keyed = || new().idempotency_key("k").ordering_key("k");
    for (text, options, what) in [
        ("a\0b", keyed(), "payload"),
        ("a", new().idempotency_key("a\0b"), "idempotency key"),
        ("a", new().tenant("\0"), "tenant"),
        ("a", new().header("n", "\0"), "value of a header"),
    ] {
        let expected = format!(
            "the {what} of a message of contract `note` contains the character U+0000, which \
             cannot be stored: remove it"
        );
        assert_eq!(refused(text, options), expected);
    }
    assert!(prepare(&note(r"\u0000"), keyed(), &Limits::default()).is_ok());
}

#[test]
fn a_delay_that_no_one_can_mean_is_refused() {
    let refusal = refused("a", ScheduleOptions::new().delay(Duration::MAX));
    assert!(refusal.contains("check the unit"), "{refusal}");
    let options = ScheduleOptions::new().delay(Duration::from_hours(24));
    let envelope = prepare(&note("a"), options, &Limits::default()).unwrap();
    assert_eq!(envelope.start, Start::After(Duration::from_hours(24)));
}

#[test]
fn a_command_without_a_json_form_is_refused_by_its_contracts_name() {
    let map = Map([(vec![1], 2)].into_iter().collect());
    let error = prepare(&map, ScheduleOptions::new(), &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "a command of contract `map` has no JSON form");
}

#[test]
fn debug_shows_no_key_and_no_content() {
    let options = ScheduleOptions::new().correlation_id("secret").header("token", "secret");
    let envelope = prepare(&note("secret"), options, &Limits::default()).unwrap();
    let shown = format!("{envelope:?}");
    assert!(shown.contains("note") && !shown.contains("secret"), "{shown}");
    let options = ScheduleOptions::new().idempotency_key("secret").header("token", "secret");
    assert!(!format!("{options:?}").contains("secret"));
}

#[handler(key = "follow")]
async fn follow(
    _command: Note,
    context: Context,
    State(sent): State<UnboundedSender<ScheduleOptions>>,
) {
    let _ = sent.send(context.follow_up());
}

#[tokio::test]
async fn what_follows_from_a_message_inherits_conversation_and_tenant_and_names_its_cause() {
    let (sent, mut received) = unbounded_channel::<ScheduleOptions>();
    let registry = Registry::builder().state(sent).build().unwrap();
    let mut first = delivery(&note("a"), "follow");
    first.message.tenant = "acme".to_owned();
    let id = first.message.id.to_string();
    run(&registry, first.clone()).await.unwrap();
    let begun = ScheduleOptions::new().tenant("acme").causation_id(&id);
    assert_eq!(received.recv().await.unwrap(), begun.clone().correlation_id(&id));
    first.message.correlation_id = Some("order-1".to_owned());
    run(&registry, first).await.unwrap();
    assert_eq!(received.recv().await.unwrap(), begun.correlation_id("order-1"));
}
