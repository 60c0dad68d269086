//! A delivery reaches its function with everything the function asked for, or says why not.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::sync::Arc;

use inbox::dispatch::DecodeError;
use inbox::extract::{Missing, Rejection, Setup};
use inbox::{
    Batch, Context, Extract, HandlerError, Headers, Outcome, Outcomes, Registry, Request, State,
    handler, handlers, inbox_contract,
};
use inbox_tests::deliver::{delivery, run, stored};
use inbox_tests::seen::Seen;
use serde::{Deserialize, Serialize};
use tower::ServiceExt as _;

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct PayV1 {
    id: u32,
}

#[inbox_contract(name = "pay", version = 2, upgrades = PayV1)]
#[derive(Serialize, Deserialize)]
struct PayV2 {
    id: u64,
}

#[inbox_contract(name = "pay", version = 4, upgrades = PayV2)]
#[derive(Serialize, Deserialize)]
struct Pay {
    id: String,
}

impl From<PayV1> for PayV2 {
    fn from(old: PayV1) -> Self {
        Self { id: old.id.into() }
    }
}

impl From<PayV2> for Pay {
    fn from(old: PayV2) -> Self {
        Self { id: format!("upgraded {}", old.id) }
    }
}

#[handler(key = "pay", legacy = ["charge"])]
async fn pay(command: Pay, State(seen): State<Seen>) {
    seen.note(command.id);
}

#[handler(key = "facts")]
async fn facts(_command: Pay, context: Context, headers: Headers, State(seen): State<Seen>) {
    seen.note(format!(
        "{} of {} attempt {} retries {}+{} correlation {:?} causation {:?} tenant {:?} trace {:?}/{:?}",
        context.handler_key(),
        context.accepted_at(),
        context.attempt(),
        context.immediate_retries(),
        context.delayed_retries(),
        context.correlation_id(),
        context.causation_id(),
        context.tenant(),
        headers.get("trace"),
        context.headers().get("trace"),
    ));
}

#[derive(Debug, PartialEq, Eq)]
struct Declined(u8);

impl std::fmt::Display for Declined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "declined with code {}", self.0)
    }
}

impl std::error::Error for Declined {}

#[handler(key = "declines")]
async fn declines(_command: Pay) -> Result<(), Declined> {
    Err(Declined(7))
}

#[handler(key = "declines-anyhow")]
async fn declines_anyhow(_command: Pay) -> anyhow::Result<()> {
    Err(Declined(8))?
}

#[handler(key = "declines-with-context")]
async fn declines_with_context(_command: Pay) -> anyhow::Result<()> {
    Err(anyhow::Error::new(Declined(8)).context("while paying"))
}

#[handler(key = "batch", batch = 10)]
async fn batch(commands: Batch<Pay>, State(seen): State<Seen>) {
    for (id, command) in commands.iter() {
        seen.note(format!("{} {}", id.as_u128(), command.id));
    }
    seen.note(format!(
        "{} in all, first {}",
        commands.len(),
        commands.into_iter().next().unwrap().id
    ));
}

#[derive(Clone)]
struct Prefix(&'static str);

struct Payments {
    seen: Seen,
}

#[handlers]
impl Payments {
    #[handler(key = "method")]
    async fn method(&self, command: Pay, prefix: State<Prefix>) -> Result<(), String> {
        self.seen.note(format!("{} {}", prefix.0.0, command.id));
        Ok(())
    }

    #[handler(key = "shared-method")]
    async fn shared_method(self: Arc<Self>, command: Pay) {
        self.seen.note(format!("shared {}", command.id));
    }
}

#[inbox_contract(name = "panics", version = 2, upgrades = PanicsV1)]
#[derive(Serialize, Deserialize)]
struct Panics;

#[inbox_contract(name = "panics", version = 1)]
#[derive(Serialize, Deserialize)]
struct PanicsV1;

impl From<PanicsV1> for Panics {
    fn from(_: PanicsV1) -> Self {
        panic!("this upgrade is broken")
    }
}

#[handler(key = "panics")]
async fn panics(_command: Panics) {}

/// A user's own extractor.
struct Trace(String);

impl Extract for Trace {
    type Prepared = &'static str;

    fn prepare(setup: &Setup<'_>) -> Result<&'static str, Missing> {
        setup.state::<Prefix>().map(|prefix| prefix.0).ok_or(Missing::Other {
            what: "there is no prefix".to_owned(),
            fix: "give the builder `.state(Prefix(..))`".to_owned(),
        })
    }

    fn extract(prefix: &&'static str, request: &Request) -> Result<Self, Rejection> {
        let headers = &request.delivery().message.headers;
        let trace = headers.get("trace").ok_or("the header `trace` is missing")?;
        Ok(Self(format!("{prefix}{trace}")))
    }
}

#[handler(key = "traced")]
async fn traced(_command: Pay, Trace(trace): Trace, State(seen): State<Seen>) {
    seen.note(trace);
}

fn registry() -> (Registry, Seen) {
    let seen = Seen::default();
    let payments = Arc::new(Payments { seen: seen.clone() });
    let builder = Registry::builder().state(seen.clone()).state(payments).state(Prefix("p-"));
    (builder.build().unwrap(), seen)
}

fn pay_command() -> Pay {
    Pay { id: "42".to_owned() }
}

#[tokio::test]
async fn a_command_reaches_its_handler_under_its_key_and_its_legacy_key() {
    let (registry, seen) = registry();
    run(&registry, delivery(&pay_command(), "pay")).await.unwrap();
    run(&registry, delivery(&pay_command(), "charge")).await.unwrap();
    assert_eq!(seen.take(), ["42", "42"]);
}

#[tokio::test]
async fn older_versions_are_upgraded_step_by_step() {
    let (registry, seen) = registry();
    for (version, payload) in
        [(1, r#"{"id":1}"#), (2, r#"{"id":5000000000}"#), (4, r#"{"id":"4"}"#)]
    {
        let row = stored(delivery(&pay_command(), "pay"), version, payload);
        run(&registry, row).await.unwrap();
    }
    assert_eq!(seen.take(), ["upgraded 1", "upgraded 5000000000", "4"]);
}

#[tokio::test]
async fn a_version_nobody_reads_is_named_together_with_those_that_are() {
    let (registry, seen) = registry();
    for unknown in [0, 3, 5] {
        let row = stored(delivery(&pay_command(), "pay"), unknown, r#"{"id":"4"}"#);
        let HandlerError::Undecodable { error, .. } = run(&registry, row).await.unwrap_err() else {
            panic!("version {unknown} was read")
        };
        let expected = DecodeError::UnknownVersion {
            contract: "pay",
            version: unknown,
            readable: vec![4, 2, 1],
        };
        assert_eq!(error, expected);
        let from_newer = error.to_string().contains("comes from a newer program");
        assert_eq!(from_newer, unknown == 5, "{error}");
    }
    assert!(seen.take().is_empty());
}

#[tokio::test]
async fn a_message_of_another_contract_is_not_taken_for_one_of_the_handlers() {
    let (registry, seen) = registry();
    // What happens when a handler keeps its key and changes its command.
    let mut row = delivery(&pay_command(), "pay");
    row.message.contract = "refund".to_owned();
    let error = run(&registry, row).await.unwrap_err();
    let HandlerError::Undecodable { error, .. } = error else { panic!("{error:?}") };
    let expected = DecodeError::OtherContract { expected: "pay", found: "refund".to_owned() };
    assert_eq!(error, expected);
    assert!(seen.take().is_empty());
}

#[tokio::test]
async fn a_handler_of_one_command_refuses_a_batch() {
    let (registry, seen) = registry();
    let row = delivery(&pay_command(), "pay");
    let request = Request::unstored_batch(row.clone(), vec![row]);
    let error = registry.handler("pay").unwrap().service().oneshot(request).await.unwrap_err();
    let HandlerError::Rejected(error) = error else { panic!("{error:?}") };
    assert!(error.to_string().contains("takes one command, but the request carries 2"));
    assert!(seen.take().is_empty());
}

#[tokio::test]
async fn a_panic_while_decoding_is_told_without_what_it_said() {
    let (registry, _) = registry();
    let row = stored(delivery(&Panics, "panics"), 1, "null");
    let error = run(&registry, row).await.unwrap_err();
    let HandlerError::Undecodable { error, .. } = error else { panic!("{error:?}") };
    assert_eq!(error, DecodeError::Panicked { contract: "panics", version: 1 });
    assert!(!error.to_string().contains("broken"), "{error}");
}

#[tokio::test]
async fn a_payload_that_does_not_fit_is_refused_without_repeating_it() {
    let (registry, seen) = registry();
    let row = stored(delivery(&pay_command(), "pay"), 1, r#"{"id":"4111 1111"}"#);
    let error = run(&registry, row).await.unwrap_err();
    let HandlerError::Undecodable { error, .. } = error else { panic!("{error:?}") };
    assert_eq!(
        error.to_string(),
        "the payload does not fit version 1 of contract `pay`: \
         invalid type: string, expected u32 at line 1 column 17"
    );
    assert!(seen.take().is_empty());
}

#[tokio::test]
async fn context_and_headers_tell_the_facts_of_the_delivery() {
    let (registry, seen) = registry();
    let mut delivery = delivery(&pay_command(), "facts");
    delivery.attempt = 3;
    delivery.carry.retries = 2;
    delivery.message.headers = [("trace", "abc")].into_iter().collect();
    delivery.message.correlation_id = Some("order-1".to_owned());
    delivery.message.causation_id = Some("click-1".to_owned());
    delivery.message.tenant = "acme".to_owned();
    let request = Request::unstored(delivery).retried();
    registry.handler("facts").unwrap().service().oneshot(request).await.unwrap();
    assert_eq!(
        seen.take(),
        [
            "facts of 1970-01-01T00:00:00Z attempt 3 retries 1+2 correlation Some(\"order-1\") causation Some(\"click-1\") \
          tenant \"acme\" trace Some(\"abc\")/Some(\"abc\")"
        ]
    );
}

#[tokio::test]
async fn a_handlers_error_can_be_matched_by_its_type() {
    let (registry, _) = registry();
    let error = run(&registry, delivery(&pay_command(), "declines")).await.unwrap_err();
    assert_eq!(error.find::<Declined>(), Some(&Declined(7)));
    assert!(error.find::<std::io::Error>().is_none());
    let HandlerError::Failed(failure) = error else { panic!("{error:?}") };
    assert_eq!(failure.type_name(), "dispatch::Declined");
    assert_eq!(failure.to_string(), "declined with code 7");
}

#[tokio::test]
async fn an_error_inside_anyhow_can_be_matched_by_its_type() {
    let (registry, _) = registry();
    for key in ["declines-anyhow", "declines-with-context"] {
        let error = run(&registry, delivery(&pay_command(), key)).await.unwrap_err();
        assert_eq!(error.find::<Declined>(), Some(&Declined(8)), "{key}");
    }
}

#[tokio::test]
async fn a_batch_is_one_call_with_every_command_in_order() {
    let (registry, seen) = registry();
    let rows = ["a", "b", "c"].map(|id| delivery(&Pay { id: id.to_owned() }, "batch"));
    let ids = rows.clone().map(|row| row.message.id.as_u128());
    let [first, rest @ ..] = rows;
    let request = Request::unstored_batch(first, rest.to_vec());
    registry.handler("batch").unwrap().service().oneshot(request).await.unwrap();
    let [a, b, c] = ids;
    let expected =
        [format!("{a} a"), format!("{b} b"), format!("{c} c"), "3 in all, first a".to_owned()];
    assert_eq!(seen.take(), expected);
}

#[tokio::test]
async fn a_batch_runs_without_the_commands_that_cannot_be_decoded_which_fail_alone() {
    let (registry, seen) = registry();
    let service = || registry.handler("batch").unwrap().service();
    let good = || delivery(&pay_command(), "batch");
    let bad = || stored(good(), 4, "{");
    let outcomes =
        service().oneshot(Request::unstored_batch(bad(), vec![good(), bad()])).await.unwrap();
    let undecodable =
        |outcome: &Outcome| matches!(outcome, Outcome::Failed(HandlerError::Undecodable { .. }));
    assert!(undecodable(outcomes.at(0)) && undecodable(outcomes.at(2)), "{outcomes:?}");
    assert!(matches!(outcomes.at(1), Outcome::Completed), "{outcomes:?}");
    assert!(seen.take().last().is_some_and(|last| last.starts_with("1 in all")));

    // Not one is left to run.
    let culprits = [bad(), bad()];
    let ids = culprits.each_ref().map(|bad| bad.message.id);
    let [first, second] = culprits;
    let error = service().oneshot(Request::unstored_batch(first, vec![second])).await.unwrap_err();
    let outcomes = Outcomes::from(error);
    for (at, id) in ids.into_iter().enumerate() {
        let Outcome::Failed(HandlerError::Undecodable { message_id, .. }) = outcomes.at(at) else {
            panic!("{outcomes:?}")
        };
        assert_eq!(*message_id, id);
    }
    assert!(seen.take().is_empty());
}

#[inbox_contract(name = "sort", version = 1)]
#[derive(Serialize, Deserialize)]
struct Sort(u32);

/// Has an answer for each but the last one, if that is 9.
#[handler(key = "sort", batch = 9)]
async fn sort(batch: Batch<Sort>) -> Vec<Result<Outcome, String>> {
    let answers = batch.into_iter().filter(|command| command.0 != 9);
    let answer = |Sort(number)| match number {
        0 => Ok(Outcome::Completed),
        1 => Ok(Outcome::discard("odd")),
        _ => Err(format!("too much: {number}")),
    };
    answers.map(answer).collect()
}

#[tokio::test]
async fn a_batch_may_have_an_outcome_for_each_of_its_commands() {
    let (registry, _) = registry();
    let run = |numbers: &[u32], version| {
        let mut rows = numbers.iter().map(|number| delivery(&Sort(*number), "sort"));
        let (first, mut rest) = (rows.next().unwrap(), rows.collect::<Vec<_>>());
        rest[0].message.version = version;
        let request = Request::unstored_batch(first, rest);
        registry.handler("sort").unwrap().service().oneshot(request)
    };
    let outcomes = run(&[0, 1, 2], 1).await.unwrap();
    assert!(matches!(outcomes.at(0), Outcome::Completed), "{outcomes:?}");
    assert!(matches!(outcomes.at(1), Outcome::Discard { .. }), "{outcomes:?}");
    assert!(matches!(outcomes.at(2), Outcome::Failed(HandlerError::Failed(_))), "{outcomes:?}");

    // The second is of a version that nobody reads: the others keep their own.
    let outcomes = run(&[0, 1, 2], 7).await.unwrap();
    assert!(matches!(outcomes.at(0), Outcome::Completed), "{outcomes:?}");
    let Outcome::Failed(HandlerError::Undecodable { .. }) = outcomes.at(1) else { panic!() };
    assert!(matches!(outcomes.at(2), Outcome::Failed(HandlerError::Failed(_))), "{outcomes:?}");

    let error = run(&[0, 1, 9], 1).await.unwrap_err();
    assert!(matches!(error, HandlerError::WrongCount { given: 3, returned: 2 }), "{error:?}");
    assert!(error.to_string().contains("return one for each command"), "{error}");
}

#[tokio::test]
async fn methods_run_on_the_value_the_builder_was_given() {
    let (registry, seen) = registry();
    run(&registry, delivery(&pay_command(), "method")).await.unwrap();
    run(&registry, delivery(&pay_command(), "shared-method")).await.unwrap();
    assert_eq!(seen.take(), ["p- 42", "shared 42"]);
}

#[tokio::test]
async fn a_users_own_extractor_prepares_once_and_may_reject_a_run() {
    let (registry, seen) = registry();
    let mut delivery = delivery(&pay_command(), "traced");
    let error = run(&registry, delivery.clone()).await.unwrap_err();
    let HandlerError::Rejected(error) = error else { panic!("{error:?}") };
    assert_eq!(error.to_string(), "the header `trace` is missing");
    delivery.message.headers = [("trace", "abc")].into_iter().collect();
    run(&registry, delivery).await.unwrap();
    assert_eq!(seen.take(), ["p-abc"]);
}

/// A layer that answers for no delivery at all.
#[tokio::test]
async fn a_layer_that_answers_for_fewer_deliveries_than_there_are_fails_the_call() {
    let (registry, _) = registry();
    let mut layers = inbox::dispatch::Layers::default();
    layers.push(tower::util::MapResponseLayer::new(|_: Outcomes| Outcomes::each(Vec::new())));
    let service = layers.around(registry.handler("batch").unwrap().service());
    let (first, second) = (delivery(&pay_command(), "batch"), delivery(&pay_command(), "batch"));
    let request = Request::unstored_batch(first, vec![second]);
    let error = service.oneshot(request).await.unwrap_err();
    assert!(matches!(error, HandlerError::WrongCount { given: 2, returned: 0 }), "{error:?}");
}
