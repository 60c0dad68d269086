use std::collections::{BTreeMap, BTreeSet};

use super::{Catalog, Problem};
use crate::contract::ContractDescriptor;
use crate::handler::HandlerDescriptor;

/// What holds for every registry, whatever it was given.
pub(super) fn all(catalog: &Catalog) -> Vec<Problem> {
    let mut problems = duplicate_contracts(catalog);
    problems.extend(duplicate_keys(catalog));
    problems.extend(unregistered_contracts(catalog));
    problems
}

// A linker may fold away what it should have refused, and hand-made descriptors never met one.
fn duplicate_contracts(catalog: &Catalog) -> Vec<Problem> {
    let mut by_identity: BTreeMap<_, Vec<&ContractDescriptor>> = BTreeMap::new();
    for contract in &catalog.contracts {
        by_identity.entry((contract.name, contract.version)).or_default().push(contract);
    }
    let shared = by_identity.into_iter().filter(|(_, contracts)| contracts.len() > 1);
    shared
        .map(|((name, version), contracts)| {
            Problem::new(
                format!("version {version} of contract `{name}` is registered more than once"),
                "give one of the types another name or another version",
                contracts.iter().map(|contract| contract.location),
            )
        })
        .collect()
}

fn duplicate_keys(catalog: &Catalog) -> Vec<Problem> {
    let mut by_key: BTreeMap<_, Vec<&HandlerDescriptor>> = BTreeMap::new();
    for handler in &catalog.handlers {
        for key in handler.keys() {
            by_key.entry(key).or_default().push(handler);
        }
    }
    let shared = by_key.into_iter().filter(|(_, handlers)| handlers.len() > 1);
    shared
        .map(|(key, handlers)| {
            Problem::new(
                format!("handler key `{key}` is registered more than once"),
                "give one handler another key; a key counts as taken also where it is a legacy key",
                handlers.iter().map(|handler| handler.location),
            )
        })
        .collect()
}

fn unregistered_contracts(catalog: &Catalog) -> Vec<Problem> {
    let known = |handler: &&HandlerDescriptor| {
        catalog.contracts.iter().any(|contract| {
            (contract.name, contract.version) == (handler.contract.name, handler.contract.version)
        })
    };
    let unknown = catalog.handlers.iter().filter(|handler| !known(handler));
    unknown
        .map(|handler| {
            let (name, version) = (handler.contract.name, handler.contract.version);
            Problem::new(
                format!(
                    "handler `{}` takes version {version} of contract `{name}`, which is not \
                     registered",
                    handler.key
                ),
                "let `#[inbox_contract]` or `contract!` implement `Contract`: by hand it is not \
                 registered",
                [handler.location],
            )
        })
        .collect()
}

/// The contracts that no handler of this binary takes, in any bounded context. A version that
/// is read through `upgrades` by a newer one with a handler is taken.
pub(super) fn contracts_without_handler(catalog: &Catalog) -> Vec<&'static ContractDescriptor> {
    let taken = |contract: &ContractDescriptor| {
        catalog.handlers.iter().any(|handler| {
            let takes = handler.contract;
            takes.name == contract.name && takes.lineage.reads(contract.version)
        })
    };
    catalog.contracts.iter().copied().filter(|contract| !taken(contract)).collect()
}

/// The handlers of one bounded context, and those of all others.
pub(super) struct ChosenHandlers {
    pub(super) handlers: Vec<&'static HandlerDescriptor>,
    pub(super) elsewhere: Vec<&'static HandlerDescriptor>,
    pub(super) problem: Option<Problem>,
}

/// The handlers of the bounded context `name`, or of none.
pub(super) fn chosen_handlers(catalog: &Catalog, name: Option<&str>) -> ChosenHandlers {
    let all = catalog.handlers.iter().copied();
    let (handlers, elsewhere): (Vec<_>, Vec<_>) =
        all.clone().partition(|handler| handler.context == name);
    let problem = match name {
        Some(name) if handlers.is_empty() => {
            let known: BTreeSet<_> = all.filter_map(|handler| handler.context).collect();
            let known: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
            let fix = match known.is_empty() {
                true => "remove `.context(..)`: no handler of this binary names one".to_owned(),
                false => format!("the contexts of this binary are {}", known.join(", ")),
            };
            Some(Problem::new(format!("no handler belongs to the context `{name}`"), fix, []))
        }
        _ => None,
    };
    ChosenHandlers { handlers, elsewhere, problem }
}
