use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Type, parse_quote};

use super::shown;
use crate::model::{CommandParameter, Function, Handler, Receiver};

/// The function that prepares the arguments once and erases the handler.
pub(super) fn bind(handler: &Handler, command: &CommandParameter) -> TokenStream {
    let arguments = arguments(handler, command);
    let names: Vec<_> = arguments.iter().map(|argument| &argument.name).collect();
    let prepare = arguments.iter().map(|argument| &argument.prepare);
    // What was lent is taken last: if another argument is refused, the layer still has it.
    let (lent, extracted): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| argument.is_lent);
    let extract = extracted.into_iter().chain(lent).map(|argument| &argument.extract);
    let call = call(handler, &arguments);
    let unit = syn::parse_quote!(());
    let output = handler.function.output.as_ref().unwrap_or(&unit);
    let span = handler.function.output.as_ref().map_or_else(Span::call_site, shown);
    let at = shown(&handler.function.ident);
    let (erase, decode, begun, into_outcome) = match command.is_batch {
        false => (
            quote_spanned!(at=> handler_fn),
            quote_spanned!(at=> __command),
            call,
            quote_spanned!(span=> <#output as __inbox::HandlerReturn>::into_outcome),
        ),
        true => (
            quote_spanned!(at=> batch_fn),
            quote_spanned! {at=>
                __inbox::DecodedBatch { batch: __command, undecodable: __undecodable }
            },
            quote_spanned!(at=> (#call, __undecodable)),
            quote_spanned!(span=> <#output as __inbox::BatchReturn>::into_outcomes),
        ),
    };
    quote_spanned! {at=>
        fn __bind(
            __setup: &mut __inbox::Setup<'_>,
        ) -> ::core::option::Option<__inbox::Arc<dyn __inbox::Handler>> {
            // All are prepared before the first missing one ends it, so that all are reported.
            #(#prepare)*
            #(let #names = #names?;)*
            ::core::option::Option::Some(__inbox::#erase(
                move |__request: &__inbox::Request| {
                    let #decode = __COMMAND.decode(__request)?;
                    #(#extract)*
                    ::core::result::Result::<_, __inbox::HandlerError>::Ok(#begun)
                },
                #into_outcome,
            ))
        }
    }
}

/// An argument of the call: how it is prepared once, and made for each run.
struct Argument {
    name: Ident,
    prepare: TokenStream,
    extract: TokenStream,
    is_lent: bool,
}

fn arguments(handler: &Handler, command: &CommandParameter) -> Vec<Argument> {
    let function = &handler.function;
    let owner = function.receiver.and(handler.owner.as_ref());
    let owner: Option<Type> = owner.map(|owner| parse_quote!(__inbox::State<__inbox::Arc<#owner>>));
    let parameters = function.parameters.iter().map(|parameter| (&parameter.ty, parameter.is_lent));
    let all = owner.iter().map(|owner| (owner, false)).chain(parameters);
    let all = all.enumerate().map(|(at, (ty, is_lent))| match is_lent {
        true => lent(at, ty),
        false => extracted(at, ty, command.is_batch),
    });
    all.collect()
}

// Everything that asks something of the argument's type does so through an alias that is shown at
// one token of it: complaints at one place are one complaint to the compiler.
fn extracted(at: usize, ty: &Type, is_batch: bool) -> Argument {
    let span = shown(ty);
    let name = format_ident!("__argument{at}", span = span);
    let alias = format_ident!("__Argument{at}", span = span);
    let method = match is_batch {
        true => quote_spanned!(span=> prepare_for_batch),
        false => quote_spanned!(span=> prepare),
    };
    let prepare = quote_spanned! {span=>
        type #alias = #ty;
        let #name = __setup.#method::<#alias>();
    };
    let extract = quote_spanned! {span=>
        let #name = <#alias as __inbox::Extract>::extract(&#name, __request)?;
    };
    Argument { name, prepare, extract, is_lent: false }
}

fn lent(at: usize, ty: &Type) -> Argument {
    let span = shown(ty);
    let name = format_ident!("__argument{at}", span = span);
    let prepare = quote_spanned!(span=> let #name = __setup.expect_loan::<#ty>(););
    let extract = quote_spanned!(span=> let mut #name = __inbox::Loan::<#ty>::take(__request)?;);
    Argument { name, prepare, extract, is_lent: true }
}

/// The call of the function. Only one that borrows needs a future around the function's own.
fn call(handler: &Handler, arguments: &[Argument]) -> TokenStream {
    let Function { ident, receiver, .. } = &handler.function;
    let (this, others) = arguments.split_at(usize::from(receiver.is_some()));
    let this = this.iter().zip(receiver).map(|(Argument { name, .. }, receiver)| match receiver {
        Receiver::Borrowed => quote!(&#name.0),
        Receiver::Shared => quote!(#name.0),
    });
    let passed = others.iter().map(|Argument { name, is_lent, .. }| match is_lent {
        true => quote!(&mut *#name),
        false => quote!(#name),
    });
    let callee = match &handler.owner {
        Some(owner) => quote!(<#owner>::#ident),
        None => quote!(#ident),
    };
    let call = quote!(#callee(#(#this,)* __command, #(#passed),*));
    let lent: Vec<_> =
        others.iter().filter(|argument| argument.is_lent).map(|argument| &argument.name).collect();
    match (receiver, lent.is_empty()) {
        (None | Some(Receiver::Shared), true) => call,
        _ => quote! {
            async move {
                let __returned = #call.await;
                #(#lent.give_back();)*
                __returned
            }
        },
    }
}
