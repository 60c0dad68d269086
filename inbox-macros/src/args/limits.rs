use std::time::Duration;

use proc_macro2::Span;
use syn::LitStr;

use super::list::{Arg, ArgList};
use super::read::{self, Shape, Spanned};
use super::{duration, split_at_commas};
use crate::errors::Errors;
use crate::words::{BATCH, CONCURRENCY, CONCURRENCY_LIST, FLEET, LINGER, PER_KEY, PROCESS, RATE};

/// `concurrency = 8`, or `concurrency(process = 8, fleet = 100, per_key = 1)`.
#[derive(Default)]
pub(crate) struct ConcurrencyArgs {
    pub(crate) process: Option<u32>,
    pub(crate) fleet: Option<u32>,
    pub(crate) per_key: Option<Spanned<u32>>,
}

impl ConcurrencyArgs {
    pub(super) fn parse(arg: Option<Arg>, errors: &mut Errors) -> Self {
        let shape = arg.and_then(|arg| read::shape(arg, CONCURRENCY, errors));
        match shape {
            None => Self::default(),
            Some(Shape::Assigned(arg)) => {
                let process = read::integer(Some(arg), CONCURRENCY, 1, errors);
                Self { process: process.map(|limit| limit.value), ..Self::default() }
            }
            Some(Shape::Nested(tokens)) => {
                let mut list = ArgList::parse(split_at_commas(tokens), CONCURRENCY_LIST, errors);
                let process = read::integer(list.take(PROCESS), PROCESS, 1, errors);
                let fleet = read::integer(list.take(FLEET), FLEET, 1, errors);
                let per_key = read::integer(list.take(PER_KEY), PER_KEY, 1, errors);
                let (process, fleet) = (process.map(|p| p.value), fleet.map(|f| f.value));
                Self { process, fleet, per_key }
            }
        }
    }
}

/// `rate = "100/s"`: so many in each stretch of time.
pub(crate) struct RateArgs {
    pub(crate) count: u32,
    pub(crate) per: Duration,
}

impl RateArgs {
    pub(super) fn parse(arg: Option<Arg>, errors: &mut Errors) -> Option<Self> {
        let literal = read::string(arg, RATE, errors)?;
        let rate = Self::read(&literal);
        if rate.is_none() {
            let message = format!(
                "`{}` is not a rate: write a number, a slash and a unit or duration, like \
                 `100/s` or `5/10m`",
                literal.value()
            );
            errors.over(&literal, message);
        }
        rate
    }

    fn read(literal: &LitStr) -> Option<Self> {
        let text = literal.value();
        let (count, per) = text.split_once('/')?;
        let count = count.parse().ok().filter(|count| *count > 0)?;
        // `/s` is short for `/1s`.
        let per = if duration::unit_of(per).is_some() { format!("1{per}") } else { per.to_owned() };
        Some(Self { count, per: duration::parse(&per).ok()? })
    }
}

/// `batch = 100, linger = "50ms"`.
pub(crate) struct BatchArgs {
    /// `None` if it was given but wrong.
    pub(crate) size: Option<u32>,
    pub(crate) linger: Option<Duration>,
    /// The place of the word.
    pub(crate) span: Span,
}

impl BatchArgs {
    pub(super) fn parse(
        batch: Option<Arg>,
        linger: Option<Arg>,
        errors: &mut Errors,
    ) -> Option<Self> {
        if let (None, Some(linger)) = (&batch, &linger) {
            let message =
                format!("only a batch lingers for more commands: add `{}`", BATCH.example);
            errors.at(linger.name.span(), message);
        }
        let linger = read::duration(linger, LINGER, errors).map(|linger| linger.value);
        let span = batch.as_ref()?.name.span();
        let size = read::integer(batch, BATCH, 2, errors).map(|size| size.value);
        Some(Self { size, linger, span })
    }
}
