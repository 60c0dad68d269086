//! Last stage: the description becomes code. Nothing fails here any more.
//!
//! All output names the core through `__inbox`, its hidden module, so that nothing a user has in
//! scope can be mistaken for ours.

mod bind;
mod contract;
mod handler;
mod options;
mod unique;

pub(crate) use contract::contract;
pub(crate) use handler::{handler, handler_block};

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Path, Type};

/// Wraps generated items so that they leave no name behind.
fn hidden(conditions: &[Attribute], krate: &Path, items: &TokenStream) -> TokenStream {
    quote! {
        #(#conditions)*
        // The uniqueness guard is exported from wherever the user's item stands, a function's
        // body included; and to name what is deprecated is the user's choice, made elsewhere.
        #[allow(deprecated, non_local_definitions)]
        const _: () = {
            use #krate::__private as __inbox;
            #items
        };
    }
}

/// A span for generated code that the compiler shows at the user's token `at`, but does not take
/// for the user's own writing: lints about style leave it alone.
fn shown(at: &impl Spanned) -> Span {
    Span::call_site().located_at(at.span())
}

/// The place of the attribute, as a constant. The span is the user's own: any other would be
/// traced back to the outermost attribute.
fn location(attribute: Span) -> TokenStream {
    quote_spanned!(attribute=> __inbox::Location::here())
}

/// A type as its user spells it.
fn type_text(ty: &Type) -> String {
    let tokens = ty.to_token_stream().to_string();
    tokens
        .replace(" < ", "<")
        .replace(" > ", ">")
        .replace(" >", ">")
        .replace(" :: ", "::")
        .replace(" ,", ",")
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
