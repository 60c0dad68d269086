use std::any::TypeId;

use super::{Catalog, Problem, Registry, RegistryError, bind, check, report};
use crate::extract::Provided;
use crate::store::HandlerTransactions;

/// Collects what handlers may ask for, then checks everything at once.
#[derive(Debug)]
#[must_use = "a builder does nothing until `.build()`"]
pub struct RegistryBuilder {
    catalog: Catalog,
    provided: Provided,
    context: Option<String>,
    without_handler: ContractsWithoutHandler,
}

/// What is said about a contract that no handler of this binary takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ContractsWithoutHandler {
    /// Nothing: other processes handle them.
    Allow,
    /// A warning for each; a single one if there are no handlers at all.
    #[default]
    Warn,
    /// `build()` fails.
    Fail,
}

impl RegistryBuilder {
    /// Starts from a given catalog instead of what is linked.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            provided: Provided::default(),
            context: None,
            without_handler: ContractsWithoutHandler::default(),
        }
    }

    /// Takes exactly these contracts and handlers instead of all that are linked.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = catalog;
        self
    }

    /// Provides a value for handlers that take `State<T>`.
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.provided.add_state(state);
        self
    }

    /// Says that a layer lends a `T` to handlers that take `&mut T`.
    pub fn lends<T: crate::provide::Lend>(mut self) -> Self {
        self.provided.add_lent(TypeId::of::<T>());
        self
    }

    /// Says that the store lends its transactions.
    pub fn transactions(mut self, transactions: &dyn HandlerTransactions) -> Self {
        self.provided.add_lent(transactions.provides());
        self
    }

    /// Takes only the handlers of this bounded context, `#[handler(context = "...")]`.
    ///
    /// Without it the registry takes only handlers that name no context.
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.context = Some(name.into());
        self
    }

    /// Decides about contracts that no handler takes.
    pub fn contracts_without_handler(mut self, policy: ContractsWithoutHandler) -> Self {
        self.without_handler = policy;
        self
    }

    /// Checks and binds everything.
    ///
    /// # Errors
    /// Lists every problem there is, each with its place in the source.
    pub fn build(self) -> Result<Registry, RegistryError> {
        let mut problems = check::all(&self.catalog);
        problems.extend(self.provided.repeated.iter().map(|name| Problem::repeated_state(name)));

        let chosen = check::chosen_handlers(&self.catalog, self.context.as_deref());
        problems.extend(chosen.problem);
        let (handlers, unbound) = bind::all(&chosen.handlers, &self.provided);
        problems.extend(unbound);

        let orphans = check::contracts_without_handler(&self.catalog);
        if self.without_handler == ContractsWithoutHandler::Fail {
            problems.extend(orphans.iter().map(|contract| Problem::no_handler(contract)));
        }
        if !problems.is_empty() {
            return Err(RegistryError::new(problems));
        }

        let registry = Registry::new(self.catalog.contracts, handlers);
        let context = self.context.as_deref();
        report::found(&registry, self.without_handler, &orphans, context, &chosen.elsewhere);
        Ok(registry)
    }
}
