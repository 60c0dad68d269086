use super::{ContractsWithoutHandler, Registry};
use crate::contract::ContractDescriptor;
use crate::handler::HandlerDescriptor;

/// Logs what was found: a crate that the linker left out shows by its absence.
pub(super) fn found(
    registry: &Registry,
    policy: ContractsWithoutHandler,
    orphans: &[&'static ContractDescriptor],
    chosen: Option<&str>,
    elsewhere: &[&'static HandlerDescriptor],
) {
    let contracts: Vec<_> = registry.contracts.iter().map(ToString::to_string).collect();
    let handlers: Vec<_> = registry.handlers.iter().map(|handler| handler.descriptor.key).collect();
    tracing::info!(?contracts, ?handlers, "registry built");
    for contract in &registry.contracts {
        let ContractDescriptor { name, version, type_name, location, .. } = contract;
        tracing::debug!(contract = name, version, type_name, %location, "contract registered");
    }
    for handler in &registry.handlers {
        let descriptor = handler.descriptor;
        tracing::debug!(
            key = descriptor.key,
            legacy = ?descriptor.legacy,
            contract = descriptor.contract.name,
            version = descriptor.contract.version,
            function = descriptor.function,
            location = %descriptor.location,
            "handler registered"
        );
    }
    for handler in elsewhere {
        // With no context chosen, the other ones may simply have been forgotten.
        match (chosen, handler.context) {
            (None, Some(context)) => tracing::warn!(
                key = handler.key,
                context,
                "handler left out: a registry with `.context(name)` takes it"
            ),
            _ => tracing::debug!(key = handler.key, context = handler.context, "handler left out"),
        }
    }
    if policy == ContractsWithoutHandler::Warn {
        warn_about(orphans, handlers.is_empty());
    }
}

fn warn_about(orphans: &[&'static ContractDescriptor], no_handlers: bool) {
    if no_handlers && !orphans.is_empty() {
        tracing::warn!(
            "this binary links contracts but no handlers: name the crate that has them, \
             `use my_handlers as _;`, or say that it only schedules with \
             `.contracts_without_handler(ContractsWithoutHandler::Allow)`"
        );
        return;
    }
    for orphan in orphans {
        tracing::warn!(
            contract = orphan.name,
            version = orphan.version,
            location = %orphan.location,
            "no handler of this binary takes this contract: if another crate has one, name it, \
             `use my_handlers as _;`"
        );
    }
}
