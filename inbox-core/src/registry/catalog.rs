use crate::contract::ContractDescriptor;
use crate::handler::HandlerDescriptor;

/// Contracts and handlers as they were registered, sorted but not yet checked.
///
/// `inventory` hands them out in no particular order, so they are sorted: what is logged,
/// reported and registered is the same from one start to the next.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub(super) contracts: Vec<&'static ContractDescriptor>,
    pub(super) handlers: Vec<&'static HandlerDescriptor>,
}

impl Catalog {
    /// What is linked into this binary.
    ///
    /// A crate that only registers must be named by the binary (`use my_handlers as _;`), or the
    /// linker leaves it out.
    #[must_use]
    pub fn linked() -> Self {
        Self::new(inventory::iter::<ContractDescriptor>, inventory::iter::<HandlerDescriptor>)
    }

    /// Exactly these, such as in a test of what the linker would refuse.
    #[must_use]
    pub fn new(
        contracts: impl IntoIterator<Item = &'static ContractDescriptor>,
        handlers: impl IntoIterator<Item = &'static HandlerDescriptor>,
    ) -> Self {
        let mut contracts: Vec<_> = contracts.into_iter().collect();
        contracts.sort_by_key(|contract| (contract.name, contract.version, contract.location));
        let mut handlers: Vec<_> = handlers.into_iter().collect();
        handlers.sort_by_key(|handler| (handler.key, handler.location));
        Self { contracts, handlers }
    }

    /// The same contracts, for a program that leaves handling to others.
    #[must_use]
    pub fn without_handlers(mut self) -> Self {
        self.handlers.clear();
        self
    }
}

inventory::collect!(ContractDescriptor);
inventory::collect!(HandlerDescriptor);
