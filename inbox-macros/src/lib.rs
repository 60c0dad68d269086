//! The attributes of `inbox`: `#[inbox_contract]`, `contract!`, `#[handler]` and `#[handlers]`.
//!
//! **Implementation detail of the `inbox` crate.** Only `inbox` follows
//! semantic versioning; depend on it instead.
//!
//! The stages, in the order a mistake would be found: `words` (the vocabulary), `args` (what
//! the attribute says), `model` (that, together with the item), `check` (rules across them),
//! `expand` (code) or `fallback` (what is put out beside `errors`).

mod args;
mod check;
mod errors;
mod expand;
mod fallback;
mod model;
mod run;
mod words;

use proc_macro::TokenStream;

#[doc = include_str!("../docs/inbox_contract.md")]
#[proc_macro_attribute]
pub fn inbox_contract(args: TokenStream, item: TokenStream) -> TokenStream {
    run::inbox_contract(args.into(), &item.into()).into()
}

#[doc = include_str!("../docs/contract.md")]
#[proc_macro]
pub fn contract(input: TokenStream) -> TokenStream {
    run::contract(input.into()).into()
}

#[doc = include_str!("../docs/handler.md")]
#[proc_macro_attribute]
pub fn handler(args: TokenStream, item: TokenStream) -> TokenStream {
    run::handler(args.into(), &item.into()).into()
}

#[doc = include_str!("../docs/handlers.md")]
#[proc_macro_attribute]
pub fn handlers(args: TokenStream, item: TokenStream) -> TokenStream {
    run::handlers(args.into(), &item.into()).into()
}
