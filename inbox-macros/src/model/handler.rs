use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Path, Signature, Type};

use super::{Function, krate};
use crate::args::HandlerArgs;
use crate::errors::Errors;

/// One handler: a function with its key and options.
pub(crate) struct Handler {
    pub(crate) args: HandlerArgs,
    pub(crate) function: Function,
    /// The type whose method it is.
    pub(crate) owner: Option<Type>,
    /// What a method of a block stands under.
    pub(crate) conditions: Vec<Attribute>,
    pub(crate) krate: Path,
    /// The attribute's place.
    pub(crate) span: Span,
}

impl Handler {
    /// `#[handler(..)] async fn ..`; `attribute` is there if another one contains it.
    pub(crate) fn read(
        args: TokenStream,
        attribute: Option<&Attribute>,
        signature: &Signature,
        errors: &mut Errors,
    ) -> Self {
        let args = HandlerArgs::parse(args, &signature.ident, attribute, errors);
        let krate = krate(args.krate.clone());
        Self {
            function: Function::read(signature, args.batch.is_some(), &krate, errors),
            args,
            krate,
            owner: None,
            conditions: Vec::new(),
            span: attribute.map_or_else(Span::call_site, |attribute| attribute.pound_token.span),
        }
    }
}
