use std::sync::Arc;

use super::{ContractRef, Handler};
use crate::Location;
use crate::extract::Setup;
use crate::policy::HandlerOptions;

/// One registered handler.
#[derive(Debug)]
pub struct HandlerDescriptor {
    /// The key stored with every delivery; it outlives renames of the function.
    pub key: &'static str,
    /// Keys this handler had before: it handles what was stored under them, and nothing new is.
    pub legacy: &'static [&'static str],
    /// The bounded context it belongs to.
    pub context: Option<&'static str>,
    /// The contract it handles.
    pub contract: ContractRef,
    /// What its attribute asked for.
    pub options: HandlerOptions,
    /// The function, with its module.
    pub function: &'static str,
    /// The attribute that registered it.
    pub location: Location,
    /// Prepares its arguments and erases it; `None` if `Setup` lacks something.
    pub bind: fn(&mut Setup<'_>) -> Option<Arc<dyn Handler>>,
}

impl HandlerDescriptor {
    /// The key and the legacy keys: everything this handler answers to.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.key).chain(self.legacy.iter().copied())
    }
}
