use std::time::Duration;

use proc_macro2::Span;

use super::list::{Arg, ArgList};
use super::read::{self, Shape};
use super::split_at_commas;
use crate::errors::Errors;
use crate::words::{
    BACKOFF, DELAYS, IMMEDIATE, IMMEDIATE_DELAY, INITIAL, JITTER, MAX, RETRY, RETRY_LIST, Word,
};

/// What `retry(..)` says.
pub(crate) struct RetryArgs {
    pub(crate) immediate: u32,
    pub(crate) immediate_delay: Option<Duration>,
    pub(crate) delays: DelayArgs,
}

/// The pause between attempts. Backoff and jitter are the core's variants, by name.
pub(crate) enum DelayArgs {
    Growing {
        backoff: &'static str,
        initial: Option<Duration>,
        max: Option<Duration>,
        jitter: &'static str,
    },
    /// The place of the word, and the delays unless one of them is wrong.
    Listed(Span, Option<Vec<Duration>>),
}

const BACKOFFS: &[(&str, &str)] =
    &[("exponential", "Exponential"), ("linear", "Linear"), ("constant", "Constant")];
const JITTERS: &[(&str, &str)] = &[("equal", "Equal"), ("full", "Full"), ("none", "None")];

impl RetryArgs {
    pub(super) fn parse(arg: Arg, errors: &mut Errors) -> Option<Self> {
        let tokens = match read::shape(arg, RETRY, errors)? {
            Shape::Nested(tokens) => tokens,
            Shape::Assigned(arg) => {
                let message = format!("`retry` takes a list: write `{}`", RETRY.example);
                errors.at(arg.span(), message);
                return None;
            }
        };
        let mut list = ArgList::parse(split_at_commas(tokens), RETRY_LIST, errors);
        let (immediate, pause) = (list.take(IMMEDIATE), list.take(IMMEDIATE_DELAY));
        if let (None, Some(pause)) = (&immediate, &pause) {
            let message = format!(
                "there are no immediate retries to pause before: add `{}`",
                IMMEDIATE.example
            );
            errors.at(pause.name.span(), message);
        }
        Some(Self {
            immediate: read::integer(immediate, IMMEDIATE, 1, errors).map_or(0, |i| i.value),
            immediate_delay: read::duration(pause, IMMEDIATE_DELAY, errors).map(|d| d.value),
            delays: match list.take(DELAYS) {
                Some(delays) => listed(delays, list, errors),
                None => growing(list, errors),
            },
        })
    }
}

fn growing(mut list: ArgList, errors: &mut Errors) -> DelayArgs {
    let backoff = read::choice(list.take(BACKOFF), BACKOFF, BACKOFFS, errors);
    let initial = read::duration(list.take(INITIAL), INITIAL, errors);
    let max = read::duration(list.take(MAX), MAX, errors);
    if let (Some(initial), Some(max)) = (initial, max)
        && initial.value > max.value
    {
        errors.at(initial.span, "the first delay is longer than `max`: swap them, or raise `max`");
    }
    DelayArgs::Growing {
        backoff: backoff.unwrap_or("Exponential"),
        initial: initial.map(|initial| initial.value),
        max: max.map(|max| max.value),
        jitter: read::choice(list.take(JITTER), JITTER, JITTERS, errors).unwrap_or("Equal"),
    }
}

fn listed(delays: Arg, mut list: ArgList, errors: &mut Errors) -> DelayArgs {
    for word in [BACKOFF, INITIAL, MAX, JITTER] {
        refuse_beside_delays(&mut list, word, errors);
    }
    let span = delays.name.span();
    let literals = read::strings(Some(delays), DELAYS, errors);
    if literals.as_ref().is_some_and(Vec::is_empty) {
        errors.at(span, format!("`delays` is empty: write `{}`", DELAYS.example));
    }
    let delays = literals.and_then(|literals| {
        let read: Vec<_> = literals.iter().map(|each| read::duration_of(each, errors)).collect();
        read.into_iter().map(|delay| delay.map(|delay| delay.value)).collect()
    });
    DelayArgs::Listed(span, delays)
}

fn refuse_beside_delays(list: &mut ArgList, word: Word, errors: &mut Errors) {
    if let Some(arg) = list.take(word) {
        let message = format!("`{}` computes delays, but `delays` lists them: keep one", word.name);
        errors.at(arg.name.span(), message);
    }
}
