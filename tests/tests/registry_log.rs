//! What a registry tells its operator when it is built.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use inbox::registry::{Catalog, RegistryBuilder};
use inbox::{ContractsWithoutHandler, Registry, handler, inbox_contract};
use inbox_tests::log;
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

#[handler(key = "pay", legacy = ["charge"], context = "payments")]
async fn pay(_command: Pay) {}

/// What a registry of the context `payments` logs.
fn payments(policy: ContractsWithoutHandler) -> String {
    log::captured(|| {
        let payments = Registry::builder().context("payments");
        payments.contracts_without_handler(policy).build().unwrap();
    })
}

#[test]
fn contracts_without_a_handler_warn_unless_allowed() {
    let warned = payments(ContractsWithoutHandler::Warn);
    let warnings: Vec<_> = warned.lines().filter(|line| line.contains("WARN")).collect();
    // Version 1 of `pay` has no handler of its own either, but version 2 reads it.
    assert_eq!(warnings.len(), 1, "{warned}");
    assert!(warnings[0].contains("contract=\"refund\" version=1"), "{warned}");
    assert!(warnings[0].contains("`use my_handlers as _;`"), "{warned}");
    assert!(!payments(ContractsWithoutHandler::Allow).contains("WARN"));
}

#[test]
fn a_binary_that_links_contracts_only_is_told_how_to_link_handlers() {
    let mut contracts = Vec::new();
    log::captured(|| {
        let payments = Registry::builder().context("payments").build().unwrap();
        contracts = payments.contracts().to_vec();
    });
    let build = |policy| {
        let builder = RegistryBuilder::new(Catalog::new(contracts.clone(), []));
        log::captured(|| drop(builder.contracts_without_handler(policy).build().unwrap()))
    };
    let logged = build(ContractsWithoutHandler::Warn);
    assert_eq!(logged.matches("WARN").count(), 1, "{logged}");
    assert!(logged.contains("`use my_handlers as _;`"), "{logged}");
    assert!(!build(ContractsWithoutHandler::Allow).contains("WARN"));
}

#[test]
fn handlers_of_a_context_that_was_not_chosen_are_not_left_out_silently() {
    let logged = log::captured(|| drop(Registry::builder().build().unwrap()));
    assert!(logged.contains("handler left out"), "{logged}");
    assert!(logged.contains("key=\"pay\" context=\"payments\""), "{logged}");
}

#[test]
fn what_was_found_is_logged() {
    let logged = payments(ContractsWithoutHandler::Allow);
    let expected = "registry built contracts=[\"pay v1\", \"pay v2\", \"refund v1\"] \
                    handlers=[\"pay\"]";
    assert!(logged.contains(expected), "{logged}");
    assert!(logged.contains("handler registered key=\"pay\" legacy=[\"charge\"]"), "{logged}");
    assert!(logged.contains("location=tests/tests/registry_log.rs:"), "{logged}");
}
