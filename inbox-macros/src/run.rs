//! Each macro as one sentence: read the model, check it, then expand it or fall back.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{DeriveInput, ItemFn, ItemImpl};

use crate::errors::Errors;
use crate::model::{Contract, Handler, HandlerBlock};
use crate::{check, expand, fallback, words};

pub(crate) fn inbox_contract(args: TokenStream, item: &TokenStream) -> TokenStream {
    let input = match syn::parse2::<DeriveInput>(item.clone()) {
        Ok(input) => input,
        Err(error) => {
            return misplaced(item, &error, "`#[inbox_contract]` goes on a struct or enum");
        }
    };
    let mut errors = Errors::new();
    let contract = Contract::of_item(args, &input, &mut errors);
    let output = contract_output(&contract, errors);
    quote!(#item #output)
}

pub(crate) fn contract(input: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let contract = Contract::of_type(input, &mut errors);
    contract_output(&contract, errors)
}

fn contract_output(contract: &Contract, mut errors: Errors) -> TokenStream {
    check::contract(contract, &mut errors);
    match errors.verdict() {
        Ok(()) => expand::contract(contract),
        Err(error) => fallback::contract(contract, &error),
    }
}

pub(crate) fn handler(args: TokenStream, item: &TokenStream) -> TokenStream {
    if args.to_string() == words::REGISTERED {
        return item.clone();
    }
    let function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => function,
        Err(error) => return misplaced(item, &error, "`#[handler]` goes on an async function"),
    };
    let mut errors = Errors::new();
    let handler = Handler::read(args, None, &function.sig, &mut errors);
    check::handler(&handler, &mut errors);
    match errors.verdict() {
        Ok(()) => {
            let output = expand::handler(&handler);
            quote!(#item #output)
        }
        Err(error) => fallback::item(item, &error),
    }
}

pub(crate) fn handlers(args: TokenStream, item: &TokenStream) -> TokenStream {
    let input = match syn::parse2::<ItemImpl>(item.clone()) {
        Ok(input) => input,
        Err(error) => return misplaced(item, &error, "`#[handlers]` goes on an impl block"),
    };
    let mut errors = Errors::new();
    let block = HandlerBlock::read(args, input, &mut errors);
    for handler in &block.handlers {
        check::handler(handler, &mut errors);
    }
    match errors.verdict() {
        Ok(()) => expand::handler_block(&block),
        Err(error) => fallback::item(&block.item, &error),
    }
}

/// The attribute stands on something else; if that does not even parse, rustc says so better.
fn misplaced(item: &TokenStream, error: &syn::Error, message: &str) -> TokenStream {
    match syn::parse2::<syn::Item>(item.clone()) {
        Ok(_) => fallback::item(item, &syn::Error::new(Span::call_site(), message)),
        Err(_) => fallback::item(item, error),
    }
}
