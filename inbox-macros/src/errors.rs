//! Collects every mistake, so that a user sees all of them at once.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;

/// The mistakes found so far. Must be asked for its [`verdict`](Self::verdict) in the end.
pub(crate) struct Errors {
    found: Option<syn::Error>,
    asked: bool,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self { found: None, asked: false }
    }

    /// Notes a mistake at one token.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Notes a mistake that covers all of `tokens`.
    pub(crate) fn over(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    /// All mistakes as one error, or none.
    pub(crate) fn verdict(mut self) -> Result<(), syn::Error> {
        self.asked = true;
        self.found.take().map_or(Ok(()), Err)
    }
}

impl Drop for Errors {
    // A mistake that was found but never shown would let wrong code compile.
    fn drop(&mut self) {
        assert!(
            self.asked || std::thread::panicking(),
            "the collected errors were never asked for"
        );
    }
}
