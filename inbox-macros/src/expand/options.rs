use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::option;
use crate::args::{BatchArgs, DelayArgs, HandlerArgs, RateArgs, RetryArgs};

/// The handler's options as a constant.
pub(super) fn options(args: &HandlerArgs) -> TokenStream {
    let timeout = option(args.timeout.map(duration));
    let max_attempts = option(max_attempts(args).map(non_zero));
    let max_crashes = option(args.max_crashes.map(|crashes| non_zero(crashes.value)));
    let retry = option(args.retry.as_ref().map(retry));
    let process = option(args.concurrency.process.map(non_zero));
    let fleet = option(args.concurrency.fleet.map(non_zero));
    let per_key = option(args.concurrency.per_key.map(|limit| non_zero(limit.value)));
    let rate = option(args.rate.as_ref().map(rate));
    let batch = option(args.batch.as_ref().map(batch));
    let on_dead = ident(args.on_dead);
    quote! {
        __inbox::HandlerOptions {
            timeout: #timeout,
            max_attempts: #max_attempts,
            max_crashes: #max_crashes,
            retry: #retry,
            concurrency: __inbox::Concurrency {
                process: #process,
                fleet: #fleet,
                per_key: #per_key,
            },
            rate: #rate,
            batch: #batch,
            on_dead: __inbox::OnDead::#on_dead,
        }
    }
}

/// Refuses `per_key` for a command that has no concurrency key.
pub(super) fn check_per_key(args: &HandlerArgs) -> Option<TokenStream> {
    let per_key = args.concurrency.per_key?;
    Some(quote_spanned! {per_key.span=>
        const _: () = ::core::assert!(
            __COMMAND.has_concurrency_key,
            "`per_key` counts by the contract's key: add `concurrency_key = \"...\"` to its \
             `#[inbox_contract]`",
        );
    })
}

/// Listed delays stand between attempts, so they decide how many there are.
fn max_attempts(args: &HandlerArgs) -> Option<u32> {
    if let Some(RetryArgs { delays: DelayArgs::Listed(_, Some(delays)), .. }) = &args.retry {
        return u32::try_from(delays.len() + 1).ok();
    }
    args.max_attempts.map(|attempts| attempts.value)
}

fn retry(args: &RetryArgs) -> TokenStream {
    let immediate = args.immediate;
    let immediate_delay = or_default(args.immediate_delay, "DEFAULT_IMMEDIATE_DELAY");
    let delays = match &args.delays {
        DelayArgs::Listed(_, delays) => {
            let delays = delays.iter().flatten().copied().map(duration);
            quote!(__inbox::Delays::Listed(__inbox::Cow::Borrowed(&[#(#delays),*])))
        }
        DelayArgs::Growing { backoff, initial, max, jitter } => {
            let (backoff, jitter) = (ident(backoff), ident(jitter));
            // A default gives way to what is written: the first delay is never above the longest.
            let (first, longest) =
                (or_default(*initial, "DEFAULT_INITIAL"), or_default(*max, "DEFAULT_MAX"));
            let (initial, max) = match (initial, max) {
                (None, Some(_)) => (quote!(__inbox::shorter(#first, #longest)), longest),
                _ => (first.clone(), quote!(__inbox::longer(#first, #longest))),
            };
            quote! {
                __inbox::Delays::Growing {
                    backoff: __inbox::Backoff::#backoff,
                    initial: #initial,
                    max: #max,
                    jitter: __inbox::Jitter::#jitter,
                }
            }
        }
    };
    quote! {
        __inbox::RetryPolicy {
            immediate: #immediate,
            immediate_delay: #immediate_delay,
            delays: #delays,
        }
    }
}

fn rate(args: &RateArgs) -> TokenStream {
    let (count, per) = (non_zero(args.count), duration(args.per));
    quote!(__inbox::Rate { count: #count, per: #per })
}

fn batch(args: &BatchArgs) -> TokenStream {
    // A size that is wrong was reported, and nothing is expanded then.
    let size = non_zero(args.size.unwrap_or(1));
    let linger = match args.linger {
        Some(linger) => duration(linger),
        None => quote!(__inbox::Duration::ZERO),
    };
    quote!(__inbox::Batching { size: #size, linger: #linger })
}

fn or_default(value: Option<Duration>, constant: &str) -> TokenStream {
    let constant = ident(constant);
    value.map_or_else(|| quote!(__inbox::RetryPolicy::#constant), duration)
}

fn duration(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(__inbox::Duration::new(#seconds, #nanos))
}

fn non_zero(value: u32) -> TokenStream {
    quote!(__inbox::at_least_one(#value))
}

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}
