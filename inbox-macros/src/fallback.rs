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

/// A contract without a name: handlers that take it are not to blame.
pub(crate) fn contract(contract: &Contract, error: &syn::Error) -> TokenStream {
    let errors = error.to_compile_error();
    let Some(ty) = &contract.ty else { return errors };
    let (krate, conditions) = (&contract.krate, &contract.conditions);
    quote! {
        #errors

        #(#conditions)*
        const _: () = {
            use #krate::__private as __inbox;

            #[automatically_derived]
            impl __inbox::Contract for #ty {
                const NAME: &'static ::core::primitive::str = "";
                const VERSION: ::core::primitive::u32 = 0;
                const KEYS: __inbox::KeyTemplates = __inbox::KeyTemplates::NONE;
                const LINEAGE: __inbox::Lineage = __inbox::Lineage::first(0);
            }
        };
    }
}
