use std::collections::BTreeMap;

use super::{Problem, Provided, RegisteredHandler};
use crate::extract::{Missing, Setup};
use crate::handler::HandlerDescriptor;

/// Binds every handler to what it asks for. What is missing is reported once, with all handlers
/// that ask for it.
pub(super) fn all(
    handlers: &[&'static HandlerDescriptor],
    provided: &Provided,
) -> (Vec<RegisteredHandler>, Vec<Problem>) {
    let mut bound = Vec::with_capacity(handlers.len());
    let mut missing: BTreeMap<(String, String), Vec<&HandlerDescriptor>> = BTreeMap::new();
    for descriptor in handlers {
        let mut setup = Setup::new(provided);
        if let Some(handler) = (descriptor.bind)(&mut setup) {
            bound.push(RegisteredHandler { descriptor, handler });
        }
        for thing in setup.into_missing() {
            missing.entry(described(&thing)).or_default().push(descriptor);
        }
    }
    let problems = missing.into_iter().map(|((what, fix), handlers)| {
        let keys: Vec<_> = handlers.iter().map(|handler| format!("`{}`", handler.key)).collect();
        let places = handlers.iter().map(|handler| handler.location);
        Problem::new(format!("{what}, asked for by {}", keys.join(", ")), fix, places)
    });
    (bound, problems.collect())
}

fn described(missing: &Missing) -> (String, String) {
    match missing {
        Missing::State { type_name } => (
            format!("`State<{type_name}>` was never provided"),
            format!("give the builder `.state(value)` with a value of type `{type_name}`"),
        ),
        Missing::Lender { type_name } => (
            format!("no layer lends `&mut {type_name}`"),
            format!("use a store that lends it, or add a layer and `.lends::<{type_name}>()`"),
        ),
        Missing::Other(what) => (what.clone(), "see the extractor's documentation".to_owned()),
    }
}
