//! Readers: the tokens of one argument become a value, or a mistake that says what to write.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens as _;
use syn::parse::Parse;
use syn::{ExprArray, LitInt, LitStr, Path, Type};

use super::duration;
use super::list::{Arg, Value};
use crate::errors::Errors;
use crate::words::Word;

/// A value together with the place it was written at.
#[derive(Clone, Copy)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// `name = "text"`
pub(super) fn string(arg: Option<Arg>, word: Word, errors: &mut Errors) -> Option<LitStr> {
    assigned(arg?, word, "a string", errors)
}

/// `name = 3`, at least `least`.
pub(super) fn integer(
    arg: Option<Arg>,
    word: Word,
    least: u32,
    errors: &mut Errors,
) -> Option<Spanned<u32>> {
    let literal: LitInt = assigned(arg?, word, "a whole number", errors)?;
    let example = word.example;
    if !literal.suffix().is_empty() {
        errors.over(literal, format!("a plain number is needed: write `{example}`"));
        return None;
    }
    match literal.base10_parse::<u32>() {
        Ok(value) if value >= least => return Some(Spanned { value, span: literal.span() }),
        Err(_) if !literal.base10_digits().starts_with('-') => {
            errors.over(literal, format!("at most {} is possible: write `{example}`", u32::MAX));
        }
        Ok(_) | Err(_) => {
            errors.over(literal, format!("at least {least} is needed: write `{example}`"));
        }
    }
    None
}

/// `name = "30s"`
pub(super) fn duration(
    arg: Option<Arg>,
    word: Word,
    errors: &mut Errors,
) -> Option<Spanned<Duration>> {
    let literal = string(arg, word, errors)?;
    duration_of(&literal, errors)
}

pub(super) fn duration_of(literal: &LitStr, errors: &mut Errors) -> Option<Spanned<Duration>> {
    match duration::parse(&literal.value()) {
        Ok(value) => Some(Spanned { value, span: literal.span() }),
        Err(message) => {
            errors.over(literal, message);
            None
        }
    }
}

/// `name = ["a", "b"]`
pub(super) fn strings(arg: Option<Arg>, word: Word, errors: &mut Errors) -> Option<Vec<LitStr>> {
    let array: ExprArray = assigned(arg?, word, "a list of strings", errors)?;
    let mut strings = Vec::new();
    for element in array.elems {
        match syn::parse2(element.to_token_stream()) {
            Ok(literal) => strings.push(literal),
            Err(_) => {
                errors.over(element, format!("expected a string: write `{}`", word.example));
                return None;
            }
        }
    }
    Some(strings)
}

/// `name = choice`, one of `choices`.
pub(super) fn choice<T: Copy>(
    arg: Option<Arg>,
    word: Word,
    choices: &[(&str, T)],
    errors: &mut Errors,
) -> Option<T> {
    let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
    let names = names.join(", ");
    let written: Ident = assigned(arg?, word, &format!("one of {names} (no quotes)"), errors)?;
    let chosen = choices.iter().find(|(name, _)| written == name);
    if chosen.is_none() {
        let example = word.example;
        errors.over(&written, format!("expected one of {names}: write `{example}`"));
    }
    chosen.map(|(_, value)| *value)
}

/// `name = some::Type<Arg>`
pub(super) fn ty(arg: Option<Arg>, word: Word, errors: &mut Errors) -> Option<Type> {
    assigned(arg?, word, "a type", errors)
}

/// `crate = some::path`
pub(super) fn path(arg: Option<Arg>, word: Word, errors: &mut Errors) -> Option<Path> {
    assigned(arg?, word, "a path", errors)
}

/// `name(..)`, or `name = ..` as tokens.
pub(super) enum Shape {
    Assigned(Arg),
    Nested(TokenStream),
}

pub(super) fn shape(arg: Arg, word: Word, errors: &mut Errors) -> Option<Shape> {
    match arg.value {
        Value::Nested(tokens) => Some(Shape::Nested(tokens)),
        Value::Assigned(_) => Some(Shape::Assigned(arg)),
        Value::Missing => {
            errors.at(arg.name.span(), format!("a value is missing: write `{}`", word.example));
            None
        }
        Value::Broken => None,
    }
}

fn assigned<T: Parse>(arg: Arg, word: Word, what: &str, errors: &mut Errors) -> Option<T> {
    let span = arg.span();
    let refusal = format!("`{}` takes {what}: write `{}`", word.name, word.example);
    let tokens = match arg.value {
        Value::Assigned(tokens) => tokens,
        Value::Broken => return None,
        Value::Missing | Value::Nested(_) => {
            errors.at(span, refusal);
            return None;
        }
    };
    match syn::parse2(tokens.clone()) {
        Ok(value) => Some(value),
        Err(_) if tokens.is_empty() => {
            errors.at(span, refusal);
            None
        }
        Err(_) => {
            errors.over(tokens, refusal);
            None
        }
    }
}
