use super::{ContractsWithoutHandler, Registry};
use crate::contract::ContractDescriptor;

/// Logs what was found: a crate that the linker left out shows by its absence.
pub(super) fn found(
    registry: &Registry,
    policy: ContractsWithoutHandler,
    orphans: &[&'static ContractDescriptor],
) {
    let (contracts, handlers) = (registry.contracts.len(), registry.handlers.len());
    tracing::info!(contracts, handlers, "registry built");
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
    if handlers == 0 {
        tracing::info!("this binary links no handlers of its context: it can only schedule");
    } else if policy == ContractsWithoutHandler::Warn {
        for orphan in orphans {
            tracing::warn!(
                contract = orphan.name,
                version = orphan.version,
                location = %orphan.location,
                "no handler of this binary takes this contract"
            );
        }
    }
}
