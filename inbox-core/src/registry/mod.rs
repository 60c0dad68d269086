//! Everything this binary registered, checked and bound at start-up.

mod bind;
mod builder;
mod catalog;
mod check;
mod problem;
mod report;

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::contract::ContractDescriptor;
use crate::handler::{Handler, HandlerDescriptor, HandlerService};

pub use builder::{ContractsWithoutHandler, RegistryBuilder};
pub use catalog::Catalog;
pub use problem::{Problem, RegistryError};

/// The contracts and handlers of one host: sorted, unique, and ready to run.
///
/// ```standalone_crate
/// use inbox::Registry;
///
/// let registry = Registry::builder().state("a value for `State<&str>`").build()?;
/// for handler in registry.handlers() {
///     println!("{} handles {}", handler.descriptor().key, handler.descriptor().contract.name);
/// }
/// # Ok::<(), inbox::RegistryError>(())
/// ```
#[derive(Debug)]
pub struct Registry {
    contracts: Vec<&'static ContractDescriptor>,
    handlers: Vec<RegisteredHandler>,
    // Every key, primary or legacy, to its place in `handlers`.
    by_key: BTreeMap<&'static str, usize>,
}

impl Registry {
    /// Starts a registry of what is linked into this binary.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::new(Catalog::linked())
    }

    fn new(contracts: Vec<&'static ContractDescriptor>, handlers: Vec<RegisteredHandler>) -> Self {
        let numbered = handlers.iter().enumerate();
        let by_key = numbered
            .flat_map(|(at, handler)| handler.descriptor.keys().map(move |key| (key, at)))
            .collect();
        Self { contracts, handlers, by_key }
    }

    /// Every contract, sorted by name and version.
    #[must_use]
    pub fn contracts(&self) -> &[&'static ContractDescriptor] {
        &self.contracts
    }

    /// Every handler of this host, sorted by key.
    #[must_use]
    pub fn handlers(&self) -> &[RegisteredHandler] {
        &self.handlers
    }

    /// The handler that answers to `key`, be it its own key or a legacy one.
    #[must_use]
    pub fn handler(&self, key: &str) -> Option<&RegisteredHandler> {
        self.by_key.get(key).map(|at| &self.handlers[*at])
    }

    /// The handlers that take messages of `version` of `contract`, sorted by key.
    pub fn handlers_of(
        &self,
        contract: &str,
        version: u32,
    ) -> impl Iterator<Item = &RegisteredHandler> {
        self.handlers.iter().filter(move |handler| {
            let takes = handler.descriptor.contract;
            takes.name == contract && takes.lineage.reads(version)
        })
    }
}

/// One handler, bound to the states it asked for.
pub struct RegisteredHandler {
    descriptor: &'static HandlerDescriptor,
    handler: Arc<dyn Handler>,
    borrows: Vec<TypeId>,
}

impl RegisteredHandler {
    /// What its attribute says.
    #[must_use]
    pub fn descriptor(&self) -> &'static HandlerDescriptor {
        self.descriptor
    }

    /// Whether it takes `&mut T` for the type with this id.
    #[must_use]
    pub fn borrows(&self, type_id: TypeId) -> bool {
        self.borrows.contains(&type_id)
    }

    /// The handler as a `tower` service, for layers to wrap.
    #[must_use]
    pub fn service(&self) -> HandlerService {
        HandlerService::new(Arc::clone(&self.handler))
    }
}

impl std::fmt::Debug for RegisteredHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RegisteredHandler").field(&self.descriptor.key).finish()
    }
}
