//! Second stage: the attribute's values and the item it stands on become one description.

mod contract;
mod function;
mod handler;
mod handlers;
mod parameter;
mod template;

pub(crate) use contract::{Contract, Fields};
pub(crate) use function::{Function, Receiver};
pub(crate) use handler::Handler;
pub(crate) use handlers::HandlerBlock;
pub(crate) use parameter::{CommandParameter, Parameter};
pub(crate) use template::Template;

use syn::{Attribute, Path, parse_quote};

/// The path of the `inbox` crate: `crate = path`, or what users have in their `Cargo.toml`.
pub(crate) fn krate(given: Option<Path>) -> Path {
    given.unwrap_or_else(|| parse_quote!(::inbox))
}

/// The conditions an item stands under: what is generated beside it must stand under them too.
pub(crate) fn conditions(attributes: &[Attribute]) -> Vec<Attribute> {
    let conditional = |attribute: &&Attribute| {
        attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
    };
    let makes_no_condition = |attribute: &&Attribute| match attribute.meta.require_list() {
        Ok(list) if attribute.path().is_ident("cfg_attr") => {
            // `cfg_attr(test, derive(..))` is about the item alone.
            !list.tokens.clone().into_iter().any(|token| token.to_string() == "cfg")
        }
        _ => false,
    };
    let kept = attributes.iter().filter(conditional).filter(|kept| !makes_no_condition(kept));
    kept.cloned().collect()
}
