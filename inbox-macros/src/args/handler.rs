use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Ident, LitStr, Path};

use super::limits::{BatchArgs, ConcurrencyArgs, RateArgs};
use super::list::ArgList;
use super::read::{self, Spanned};
use super::retry::RetryArgs;
use super::split_at_commas;
use crate::errors::Errors;
use crate::words::{
    BATCH, CONCURRENCY, CONTEXT, CRATE, HANDLER, HANDLERS, KEY, LEGACY, LINGER, MAX_ATTEMPTS,
    MAX_CRASHES, ON_DEAD, RATE, RETRY, TIMEOUT,
};

/// What `#[handler(..)]` says.
pub(crate) struct HandlerArgs {
    pub(crate) key: Option<LitStr>,
    pub(crate) legacy: Vec<LitStr>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_attempts: Option<Spanned<u32>>,
    pub(crate) max_crashes: Option<Spanned<u32>>,
    pub(crate) retry: Option<RetryArgs>,
    pub(crate) concurrency: ConcurrencyArgs,
    pub(crate) rate: Option<RateArgs>,
    pub(crate) batch: Option<BatchArgs>,
    /// The core's variant, by name.
    pub(crate) on_dead: &'static str,
    pub(crate) context: Option<LitStr>,
    pub(crate) krate: Option<Path>,
}

const ON_DEADS: &[(&str, &str)] = &[("block", "Block"), ("skip", "Skip")];

impl HandlerArgs {
    /// `function` lends its name to the key that is suggested where there is none; `attribute` is
    /// there if another one contains it.
    pub(crate) fn parse(
        tokens: TokenStream,
        function: &Ident,
        attribute: Option<&Attribute>,
        errors: &mut Errors,
    ) -> Self {
        let mut list = ArgList::parse(split_at_commas(tokens), HANDLER, errors);
        let key = list.take(KEY);
        if key.is_none() {
            let suggestion = function.to_string().trim_start_matches("r#").replace('_', "-");
            let message = format!(
                "`key` is missing: write `key = \"{suggestion}\"`; it is stored with every \
                 delivery, so it must not change when the function is renamed"
            );
            match attribute {
                Some(attribute) => errors.over(attribute, message),
                None => errors.at(Span::call_site(), message),
            }
        }
        Self {
            key: read::string(key, KEY, errors),
            legacy: read::strings(list.take(LEGACY), LEGACY, errors).unwrap_or_default(),
            timeout: read::duration(list.take(TIMEOUT), TIMEOUT, errors).map(|t| t.value),
            max_attempts: read::integer(list.take(MAX_ATTEMPTS), MAX_ATTEMPTS, 1, errors),
            max_crashes: read::integer(list.take(MAX_CRASHES), MAX_CRASHES, 1, errors),
            retry: list.take(RETRY).and_then(|arg| RetryArgs::parse(arg, errors)),
            concurrency: ConcurrencyArgs::parse(list.take(CONCURRENCY), errors),
            rate: RateArgs::parse(list.take(RATE), errors),
            batch: BatchArgs::parse(list.take(BATCH), list.take(LINGER), errors),
            on_dead: read::choice(list.take(ON_DEAD), ON_DEAD, ON_DEADS, errors).unwrap_or("Block"),
            context: read::string(list.take(CONTEXT), CONTEXT, errors),
            krate: read::path(list.take(CRATE), CRATE, errors),
        }
    }
}

/// What `#[handlers(..)]` says.
pub(crate) struct HandlersArgs {
    pub(crate) krate: Option<Path>,
}

impl HandlersArgs {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut list = ArgList::parse(split_at_commas(tokens), HANDLERS, errors);
        Self { krate: read::path(list.take(CRATE), CRATE, errors) }
    }
}
