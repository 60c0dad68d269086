//! Guards that make a second use of one name fail: in `cargo check` within a crate, at link time
//! between crates.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;

/// A handler key, primary or legacy: all share one namespace.
pub(super) fn handler_key(key: &LitStr) -> TokenStream {
    let value = key.value();
    guard(
        key.span(),
        &format!("__inbox_handler_key_used_twice__{}", identifier(&value)),
        &format!("inbox_handler_key__{value}__is_registered_more_than_once"),
    )
}

/// One version of one contract.
pub(super) fn contract(name: &LitStr, version: u32) -> TokenStream {
    let value = name.value();
    guard(
        name.span(),
        &format!("__inbox_contract_used_twice__{}__version_{version}", identifier(&value)),
        &format!("inbox_contract__{value}__version_{version}__is_registered_more_than_once"),
    )
}

fn guard(span: Span, macro_name: &str, symbol: &str) -> TokenStream {
    let macro_name = Ident::new(macro_name, span);
    // An exported macro belongs to the crate's root wherever it is defined, so a second one of the
    // same name is rustc's E0428, pointing at both literals.
    let within_crate = quote_spanned! {span=>
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #macro_name { () => {}; }
    };
    // Two definitions of one symbol do not link, and the linker says its name. The object that
    // holds it is always linked, for `inventory`'s constructor beside it. The symbol is plain text
    // because linkers of dynamic libraries read it from a script.
    let definition = quote_spanned!(span=> static UNIQUE: ::core::primitive::u8 = 0;);
    quote! {
        #within_crate
        const _: () = {
            #[used]
            #[unsafe(export_name = #symbol)]
            #definition
        };
    }
}

/// Spells a name as an identifier, two names never alike: separators become one, two or three
/// underscores, and no name has two separators in a row.
fn identifier(name: &str) -> String {
    let spelled = name.chars().map(|c| match c {
        '-' => "_".to_owned(),
        '.' => "__".to_owned(),
        '_' => "___".to_owned(),
        letter => letter.to_string(),
    });
    spelled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_punctuation_alone_stay_apart() {
        let names = ["a-b", "a_b", "a.b", "ab", "a-b.c", "a.b-c", "a_b-c", "a-b_c"];
        let spelled: std::collections::BTreeSet<_> = names.map(identifier).into_iter().collect();
        assert_eq!(spelled.len(), names.len());
    }
}
