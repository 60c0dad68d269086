//! Whatever is wrong with a registry is said at start-up: all of it, with places and fixes.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::sync::Arc;

use inbox::registry::{
    Catalog, ContractDescriptor, HandlerDescriptor, Location, Problem, RegisteredHandler,
    RegistryBuilder,
};
use inbox::{ContractsWithoutHandler, Lend, Registry, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct PayV1;

#[inbox_contract(name = "pay", version = 2, upgrades = PayV1)]
#[derive(Serialize, Deserialize)]
struct Pay;

impl From<PayV1> for Pay {
    fn from(_: PayV1) -> Self {
        Self
    }
}

#[inbox_contract(name = "refund", version = 1)]
#[derive(Serialize, Deserialize)]
struct Refund;

#[derive(Clone)]
struct Gateway;

struct Ledger;

impl Lend for Ledger {}

#[handler(key = "pay", legacy = ["charge"], context = "payments")]
async fn pay(_command: Pay, _gateway: State<Gateway>) {}

#[handler(key = "pay-later", context = "payments")]
async fn pay_later(_command: Pay, _gateway: State<Gateway>, _ledger: &mut Ledger) {}

fn all() -> (Vec<&'static ContractDescriptor>, Vec<&'static HandlerDescriptor>) {
    let payments = Registry::builder().context("payments").state(Gateway).lends::<Ledger>();
    let registry = payments.build().unwrap();
    let handlers = registry.handlers().iter().map(RegisteredHandler::descriptor);
    (registry.contracts().to_vec(), handlers.collect())
}

fn elsewhere(line: u32) -> Location {
    Location { file: "elsewhere.rs", line, column: 1 }
}

/// A copy of a handler, as a second crate would bring it if its linker let it.
fn copy_of(
    original: &HandlerDescriptor,
    key: &'static str,
    line: u32,
) -> &'static HandlerDescriptor {
    Box::leak(Box::new(HandlerDescriptor {
        key,
        legacy: &[],
        context: original.context,
        contract: original.contract,
        options: original.options.clone(),
        function: "elsewhere",
        location: elsewhere(line),
        bind: original.bind,
    }))
}

#[test]
fn every_problem_is_listed_at_once_with_its_places_and_a_fix() {
    let (mut contracts, mut handlers) = all();
    let pay = contracts[1];
    contracts.push(Box::leak(Box::new(ContractDescriptor { location: elsewhere(1), ..*pay })));
    handlers.push(copy_of(handlers[0], "pay", 2));
    handlers.push(copy_of(handlers[0], "charge", 3));
    let error = RegistryBuilder::new(Catalog::new(contracts, handlers))
        .context("payments")
        .contracts_without_handler(ContractsWithoutHandler::Fail)
        .build()
        .unwrap_err();

    let what: Vec<_> = error.problems().iter().map(Problem::what).collect();
    assert_eq!(
        what,
        [
            "version 2 of contract `pay` is registered more than once",
            "handler key `charge` is registered more than once",
            "handler key `pay` is registered more than once",
            "`State<registry_problems::Gateway>` was never provided, \
             asked for by `charge`, `pay`, `pay`, `pay-later`",
            "no layer lends `&mut registry_problems::Ledger`, asked for by `pay-later`",
            "no handler takes version 1 of contract `refund` (`Refund`)",
        ]
    );
    let places: Vec<_> =
        error.problems()[2].places().iter().map(|place| (place.file, place.line)).collect();
    assert_eq!(places[0], ("elsewhere.rs", 2));
    assert_eq!(places[1].0, "tests/tests/registry_problems.rs");
    let shown = error.to_string();
    assert!(shown.starts_with("the registry has 6 problems:\n  1. version 2 of contract `pay`"));
    assert!(
        shown.contains("\n     at elsewhere.rs:1:1\n     at tests/tests/registry_problems.rs:")
    );
    assert!(shown.contains("\n     fix: give one of the types another name or another version"));
}

#[test]
fn a_handler_of_a_contract_that_was_never_registered_is_refused() {
    let (_, handlers) = all();
    let error = RegistryBuilder::new(Catalog::new([], handlers))
        .context("payments")
        .state(Gateway)
        .lends::<Ledger>()
        .build()
        .unwrap_err();
    assert_eq!(
        error.problems()[0].what(),
        "handler `pay` takes version 2 of contract `pay`, which is not registered"
    );
}

#[test]
fn a_context_without_handlers_is_refused_naming_those_there_are() {
    let error = Registry::builder().context("paymnets").build().unwrap_err();
    assert_eq!(error.problems()[0].what(), "no handler belongs to the context `paymnets`");
    assert_eq!(error.problems()[0].fix(), "the contexts of this binary are `broken`, `payments`");
}

#[test]
fn one_type_of_state_given_twice_is_refused() {
    let error = Registry::builder().state(1_u8).state(2_u8).build().unwrap_err();
    assert_eq!(error.problems()[0].what(), "two values were given for `State<u8>`");
}

#[test]
fn two_types_that_share_a_name_are_two_states() {
    fn first() -> impl Send + Sync + 'static {
        struct Local;
        Local
    }
    fn second() -> impl Send + Sync + 'static {
        struct Local;
        Local
    }
    let builder = Registry::builder().context("payments").state(Gateway).lends::<Ledger>();
    assert!(builder.state(first()).state(second()).build().is_ok());
}

#[test]
fn what_was_given_is_listed_beside_what_is_missing() {
    let payments = Registry::builder().context("payments").lends::<Ledger>();
    let error = payments.state(Arc::new(Gateway)).build().unwrap_err();
    assert_eq!(
        error.problems()[0].fix(),
        "write `.state(value)`, where `value` is a `registry_problems::Gateway`; \
         given was `Arc<registry_problems::Gateway>`"
    );
}

#[test]
fn a_loan_taken_twice_is_refused_at_start_up() {
    type Books = Ledger;

    #[handler(key = "pay-twice", context = "broken")]
    async fn pay_twice(_command: Pay, _one: &mut Ledger, _other: &mut Books) {}

    let error = Registry::builder().context("broken").lends::<Ledger>().build().unwrap_err();
    assert_eq!(
        error.problems()[0].what(),
        "there is one `&mut registry_problems::Ledger` for a run, and two are taken, \
         asked for by `pay-twice`"
    );
}

#[test]
fn an_error_shows_its_list_wherever_it_is_printed() {
    let error = Registry::builder().context("payments").build().unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}
