use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, LitStr, Type};

use super::{hidden, location, option, shown, type_text, unique};
use crate::model::{Contract, Template};

/// `impl Contract`, the registration and the uniqueness guard.
pub(crate) fn contract(contract: &Contract) -> TokenStream {
    let (Some(ty), Some(name), Some(version)) = (&contract.ty, &contract.name, contract.version)
    else {
        return TokenStream::new();
    };
    let version = version.value;
    let upgrade = contract.upgrades.as_ref().map(|old| upgrade(ty, old, name, version));
    let (lineage, decode) = match upgrade {
        Some(_) => (
            quote!(__inbox::Lineage::after(#version, __UPGRADE.older)),
            quote! {
                fn decode(
                    version: ::core::primitive::u32,
                    payload: &__inbox::Payload,
                ) -> ::core::result::Result<Self, __inbox::DecodeError> {
                    __UPGRADE.decode(version, payload)
                }
            },
        ),
        None => (quote!(__inbox::Lineage::first(#version)), TokenStream::new()),
    };
    let templates = templates(contract);
    let keys = keys(contract);
    let guard = unique::contract(name, version);
    let label = type_text(ty);
    let location = location(Span::call_site());
    let items = quote! {
        #upgrade

        #[automatically_derived]
        impl __inbox::Contract for #ty {
            const NAME: &'static ::core::primitive::str = #name;
            const VERSION: ::core::primitive::u32 = #version;
            const KEYS: __inbox::KeyTemplates = #templates;
            const LINEAGE: __inbox::Lineage = #lineage;
            #keys
            #decode
        }

        #guard

        __inbox::inventory::submit! {
            __inbox::ContractDescriptor::of::<#ty>(#label, #location)
        }
    };
    hidden(&[], &contract.krate, &items)
}

/// The step from the older version. It is the one place that names the older type, so that what
/// is wrong with it is said once.
fn upgrade(ty: &Type, old: &Type, name: &LitStr, version: u32) -> TokenStream {
    let refusal = format!(
        "`upgrades` must name an older version of the same contract: one with the name `{}` and a \
         version below {version}",
        name.value()
    );
    quote_spanned! {shown(old)=>
        const __UPGRADE: __inbox::Upgrade<#ty> = __inbox::upgrade::<#ty, #old>();
        const _: () = __UPGRADE.check(#name, #version, #refusal);
    }
}

fn templates(contract: &Contract) -> TokenStream {
    let keys = &contract.keys;
    let [idempotency, ordering, concurrency] =
        [&keys.idempotency, &keys.ordering, &keys.concurrency]
            .map(|template| option(template.as_ref().map(|template| &template.literal)));
    quote! {
        __inbox::KeyTemplates {
            idempotency: #idempotency,
            ordering: #ordering,
            concurrency: #concurrency,
        }
    }
}

fn keys(contract: &Contract) -> TokenStream {
    let keys = &contract.keys;
    let methods = [
        ("idempotency_key", &keys.idempotency),
        ("ordering_key", &keys.ordering),
        ("concurrency_key", &keys.concurrency),
    ];
    let methods = methods.into_iter().filter_map(|(method, template)| {
        let method = Ident::new(method, Span::call_site());
        let written = written(template.as_ref()?);
        Some(quote! {
            fn #method(&self) -> ::core::option::Option<__inbox::String> {
                ::core::option::Option::Some(#written)
            }
        })
    });
    methods.collect()
}

fn written(template: &Template) -> TokenStream {
    let span = shown(&template.literal);
    let format = Literal::string(&template.format);
    let fields = template
        .fields
        .iter()
        .map(|members| quote_spanned!(span=> __inbox::key_part(&self.#(#members).*)));
    quote!(__inbox::format!(#format #(, #fields)*))
}
