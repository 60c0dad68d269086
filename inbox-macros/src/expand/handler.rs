use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::bind::bind;
use super::{hidden, location, option, options, shown, type_text, unique};
use crate::model::{CommandParameter, Handler, HandlerBlock};

/// The registration of a handler, and the uniqueness guards of its keys.
pub(crate) fn handler(handler: &Handler) -> TokenStream {
    let (Some(key), Some(command)) = (&handler.args.key, &handler.function.command) else {
        return TokenStream::new();
    };
    let legacy = &handler.args.legacy;
    let guards = std::iter::once(key).chain(legacy).map(unique::handler_key);
    let contract = contract(command);
    let per_key = options::check_per_key(&handler.args);
    let bind = bind(handler, command);
    let options = options::options(&handler.args);
    let context = option(handler.args.context.as_ref());
    let function = name(handler);
    let location = location(handler.span);
    let items = quote! {
        #(#guards)*
        #contract
        #per_key
        #bind

        __inbox::inventory::submit! {
            __inbox::HandlerDescriptor {
                key: #key,
                legacy: &[#(#legacy),*],
                context: #context,
                contract: __COMMAND.contract,
                options: #options,
                function: ::core::concat!(::core::module_path!(), "::", #function),
                location: #location,
                bind: __bind,
            }
        }
    };
    hidden(&handler.conditions, &handler.krate, &items)
}

/// The impl block, and the registration of each of its handlers.
pub(crate) fn handler_block(block: &HandlerBlock) -> TokenStream {
    let item = &block.item;
    let handlers = block.handlers.iter().map(handler);
    quote!(#item #(#handlers)*)
}

fn name(handler: &Handler) -> String {
    let function = &handler.function.ident;
    match &handler.owner {
        Some(owner) => format!("{}::{function}", type_text(owner)),
        None => function.to_string(),
    }
}

/// The one place that names the command's type, so that what is wrong with it is said once.
fn contract(command: &CommandParameter) -> TokenStream {
    let ty = &command.ty;
    match command.is_batch {
        true => quote_spanned! {shown(ty)=>
            const __COMMAND: __inbox::Command<__inbox::DecodedBatch<#ty>> = __inbox::batch::<#ty>();
        },
        false => quote_spanned! {shown(ty)=>
            const __COMMAND: __inbox::Command<#ty> = __inbox::command::<#ty>();
        },
    }
}
