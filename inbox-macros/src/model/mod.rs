//! Second stage: the attribute's values and the item it stands on become one description.

mod contract;
mod function;
mod handler;
mod handlers;
mod parameter;
mod spelled;
mod template;

pub(crate) use contract::{Contract, Fields};
pub(crate) use function::{Function, Receiver};
pub(crate) use handler::Handler;
pub(crate) use handlers::HandlerBlock;
pub(crate) use parameter::{CommandParameter, Parameter};
pub(crate) use template::Template;

use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::{Attribute, Member, Path, Type, parse_quote};

/// The path of the `inbox` crate: `crate = path`, or what users have in their `Cargo.toml`.
pub(crate) fn krate(given: Option<Path>) -> Path {
    given.unwrap_or_else(|| parse_quote!(::inbox))
}

/// A field's name as a key spells it; a tuple's are numbers.
pub(crate) fn member_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The conditions a method stands under: what is generated beside its block must stand under them
/// too. (On items, the compiler decides about them before it calls an attribute.)
fn conditions(attributes: &[Attribute]) -> Vec<Attribute> {
    let conditional = |attribute: &&Attribute| {
        attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
    };
    let makes_no_condition = |attribute: &&Attribute| match attribute.meta.require_list() {
        Ok(list) if attribute.path().is_ident("cfg_attr") => {
            // `cfg_attr(test, derive(..))` is about the item alone.
            !list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|word| word == "cfg")
        }
        _ => false,
    };
    let kept = attributes.iter().filter(conditional).filter(|kept| !makes_no_condition(kept));
    kept.cloned().collect()
}

/// Whether `path` names something of ours: `Name`, `inbox::Name` or what `crate = path` says.
pub(crate) fn is_ours(path: &Path, krate: &Path) -> bool {
    let mut parent = path.clone();
    parent.segments.pop();
    parent.segments.pop_punct();
    // With and without the leading `::` it is the same crate.
    let text = |path: &Path| path.to_token_stream().to_string().replace(' ', "");
    let name = |path: &Path| text(path).trim_start_matches("::").to_owned();
    parent.segments.is_empty() || name(&parent) == "inbox" || name(&parent) == name(krate)
}

/// The type itself: one that a `macro_rules!` macro passes on comes in an invisible group.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        ty => ty,
    }
}
