//! What is put out beside the errors: the item as it was, and just enough for the rest of the
//! user's code to compile, so that one mistake is not reported twice.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::model::Contract;

/// The item as written, and the errors.
pub(crate) fn item(item: impl ToTokens, error: &syn::Error) -> TokenStream {
    let errors = error.to_compile_error();
    quote!(#item #errors)
}

/// A contract with what is right about it: handlers that take it are not to blame for the rest.
pub(crate) fn contract(contract: &Contract, error: &syn::Error) -> TokenStream {
    let errors = error.to_compile_error();
    let Some(ty) = &contract.ty else { return errors };
    let krate = &contract.krate;
    let version = contract.version.map_or(0, |version| version.value);
    let concurrency = match contract.keys.has_concurrency_key {
        true => quote!(::core::option::Option::Some("")),
        false => quote!(::core::option::Option::None),
    };
    quote! {
        #errors

        #[allow(deprecated)]
        const _: () = {
            use #krate::__private as __inbox;

            #[automatically_derived]
            impl __inbox::Contract for #ty {
                // An empty name stands for a broken contract.
                const NAME: &'static ::core::primitive::str = "";
                const VERSION: ::core::primitive::u32 = #version;
                const KEYS: __inbox::KeyTemplates =
                    __inbox::KeyTemplates { concurrency: #concurrency, ..__inbox::KeyTemplates::NONE };
                const LINEAGE: __inbox::Lineage = __inbox::Lineage::first(#version);
            }
        };
    }
}
