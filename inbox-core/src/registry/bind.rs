use std::collections::BTreeMap;

use super::{Problem, RegisteredHandler};
use crate::extract::{Provided, Setup};
use crate::handler::HandlerDescriptor;
use crate::provide::Missing;

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
        let handler = (descriptor.bind)(&mut setup);
        let (lacks, borrows) = setup.into_parts();
        if let Some(handler) = handler {
            bound.push(RegisteredHandler { descriptor, handler, borrows });
        }
        for thing in lacks {
            missing.entry(described(&thing, provided)).or_default().push(descriptor);
        }
    }
    let problems = missing.into_iter().map(|((what, fix), handlers)| {
        let keys: Vec<_> = handlers.iter().map(|handler| format!("`{}`", handler.key)).collect();
        let places = handlers.iter().map(|handler| handler.location);
        Problem::new(format!("{what}, asked for by {}", keys.join(", ")), fix, places)
    });
    (bound, problems.collect())
}

fn described(missing: &Missing, provided: &Provided) -> (String, String) {
    match missing {
        Missing::State { type_name } => state(type_name, provided),
        Missing::Lender { type_name } => (
            format!("no layer lends `&mut {type_name}`"),
            format!("use a store that lends it, or add a layer and `.lends::<{type_name}>()`"),
        ),
        Missing::Other { what, fix } => (what.clone(), fix.clone()),
    }
}

fn state(type_name: &str, provided: &Provided) -> (String, String) {
    let shown = readable(type_name);
    let value = match shown.strip_prefix("Arc<").and_then(|rest| rest.strip_suffix('>')) {
        Some(inner) => format!("`.state(Arc::new(value))`, where `value` is a `{inner}`"),
        None => format!("`.state(value)`, where `value` is a `{shown}`"),
    };
    let given: Vec<_> =
        provided.type_names().iter().map(|name| format!("`{}`", readable(name))).collect();
    let given = match given.is_empty() {
        true => "nothing yet".to_owned(),
        false => given.join(", "),
    };
    (format!("`State<{shown}>` was never provided"), format!("write {value}; given was {given}"))
}

/// The name as its user would spell it: `Arc<shop::Mailer>` for `alloc::sync::Arc<shop::Mailer>`.
fn readable(type_name: &str) -> String {
    let modules = ["alloc::sync::", "alloc::string::", "alloc::vec::", "alloc::boxed::"];
    let modules = modules.iter().chain(&["core::option::", "core::result::"]);
    modules.fold(type_name.to_owned(), |name, module| name.replace(module, ""))
}
