use syn::LitStr;

use super::name::name;
use crate::args::DelayArgs;
use crate::errors::Errors;
use crate::model::Handler;
use crate::words::{CONTEXT, KEY};

pub(crate) fn handler(handler: &Handler, errors: &mut Errors) {
    names(handler, errors);
    legacy_keys_are_others(handler, errors);
    batch_and_command_agree(handler, errors);
    attempts_and_delays_agree(handler, errors);
    self_stands_in_a_block(handler, errors);
    each_loan_is_taken_once(handler, errors);
}

fn names(handler: &Handler, errors: &mut Errors) {
    let args = &handler.args;
    for key in args.key.iter().chain(&args.legacy) {
        name(key, "handler key", KEY, errors);
    }
    if let Some(context) = &args.context {
        name(context, "context", CONTEXT, errors);
    }
}

fn legacy_keys_are_others(handler: &Handler, errors: &mut Errors) {
    let args = &handler.args;
    for (at, legacy) in args.legacy.iter().enumerate() {
        let value = legacy.value();
        if args.key.as_ref().map(LitStr::value).as_deref() == Some(&value) {
            let message = format!("`{value}` is this handler's own key: remove it from `legacy`");
            errors.over(legacy, message);
        } else if args.legacy[..at].iter().any(|earlier| earlier.value() == value) {
            errors.over(legacy, format!("`{value}` is listed twice: keep one of them"));
        }
    }
}

fn batch_and_command_agree(handler: &Handler, errors: &mut Errors) {
    let Some(command) = &handler.function.command else { return };
    match (&handler.args.batch, command.is_batch) {
        (Some(batch), false) => errors.at(
            batch.span,
            "a handler with `batch` takes many commands: make its first parameter `Batch<Command>`",
        ),
        (None, true) => errors.over(
            &command.ty,
            "`Batch` needs its size: add `batch = 100` to the attribute, or take one command",
        ),
        _ => {}
    }
}

fn attempts_and_delays_agree(handler: &Handler, errors: &mut Errors) {
    let args = &handler.args;
    let (Some(attempts), Some(retry)) = (&args.max_attempts, &args.retry) else { return };
    let DelayArgs::Listed(written, Some(delays)) = &retry.delays else { return };
    let implied = delays.len() + 1;
    if usize::try_from(attempts.value) != Ok(implied) {
        let noun = if delays.len() == 1 { "delay stands" } else { "delays stand" };
        let message = format!(
            "{} {noun} between {implied} attempts, but `max_attempts` is {}: leave \
             `max_attempts` out, or list as many delays as it needs",
            delays.len(),
            attempts.value
        );
        errors.at(*written, message);
    }
}

fn self_stands_in_a_block(handler: &Handler, errors: &mut Errors) {
    if handler.owner.is_none() && handler.function.receiver.is_some() {
        errors.over(
            &handler.function.ident,
            "a handler that takes `self` is a method: put `#[handlers]` on its impl block, and write \
             `#[handler(..)]` there as such, not renamed and not in `cfg_attr`",
        );
    }
}

/// The registry finds those that are spelled differently.
fn each_loan_is_taken_once(handler: &Handler, errors: &mut Errors) {
    let lent = handler.function.parameters.iter().filter(|parameter| parameter.is_lent);
    let lent: Vec<_> = lent.map(|parameter| &parameter.ty).collect();
    for (at, ty) in lent.iter().enumerate() {
        if lent[..at].contains(ty) {
            errors.over(ty, "a layer lends one of these to a run: take it once");
        }
    }
}
