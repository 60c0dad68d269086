use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens as _;
use syn::token::Paren;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, ImplItem, ImplItemFn, ItemImpl, MacroDelimiter, Meta, MetaList, Type};

use super::{Handler, conditions, krate};
use crate::args::Handlers;
use crate::errors::Errors;
use crate::words::REGISTERED;

/// An impl block whose methods are handlers.
pub(crate) struct HandlerBlock {
    /// The block, its `#[handler]` attributes marked as read.
    pub(crate) item: ItemImpl,
    pub(crate) handlers: Vec<Handler>,
}

impl HandlerBlock {
    /// `#[handlers] impl ..`
    pub(crate) fn read(args: TokenStream, mut item: ItemImpl, errors: &mut Errors) -> Self {
        let block = Handlers::parse(args, errors);
        refuse_block(&item, errors);
        let owner = (*item.self_ty).clone();
        let mut handlers = Vec::new();
        for method in item.items.iter_mut().filter_map(as_method) {
            let Some(attribute) = take_handler_attribute(method) else { continue };
            let mut handler = read_method(&attribute, method, &owner, errors);
            handler.conditions.extend(conditions(&item.attrs));
            if handler.args.krate.is_none() {
                handler.krate = krate(block.krate.clone());
            }
            handlers.push(handler);
        }
        if handlers.is_empty() {
            errors.at(
                item.impl_token.span,
                "no method here is a handler: put `#[handler(key = \"...\")]` on at least one, or \
                 remove `#[handlers]`",
            );
        }
        Self { item, handlers }
    }
}

fn as_method(item: &mut ImplItem) -> Option<&mut ImplItemFn> {
    match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    }
}

/// Reads the `#[handler]` of a method and marks it as read.
fn take_handler_attribute(method: &mut ImplItemFn) -> Option<Attribute> {
    let is_handler = |attribute: &Attribute| {
        attribute.path().segments.last().is_some_and(|segment| segment.ident == "handler")
    };
    let attribute = method.attrs.iter_mut().find(|attribute| is_handler(attribute))?;
    let read = attribute.clone();
    attribute.meta = Meta::List(MetaList {
        path: attribute.path().clone(),
        delimiter: MacroDelimiter::Paren(Paren::default()),
        tokens: Ident::new(REGISTERED, Span::call_site()).into_token_stream(),
    });
    Some(read)
}

fn read_method(
    attribute: &Attribute,
    method: &ImplItemFn,
    owner: &Type,
    errors: &mut Errors,
) -> Handler {
    let args = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
    };
    // Registration stands beside the block, where `Self` means nothing.
    let mut signature = method.sig.clone();
    NameSelf(owner).visit_signature_mut(&mut signature);
    let mut handler = Handler::read(args, Some(attribute), &method.attrs, &signature, errors);
    handler.owner = Some(owner.clone());
    handler
}

fn refuse_block(item: &ItemImpl, errors: &mut Errors) {
    for param in &item.generics.params {
        errors.over(
            param,
            "handlers belong to one concrete type, because the registry holds one value of it: \
             write the block for each closed type",
        );
    }
    if let Some((path, _)) = &item.trait_ {
        errors.over(path, "handlers are inherent methods: write `impl Type`, not `impl Trait for`");
    }
}

struct NameSelf<'a>(&'a Type);

impl VisitMut for NameSelf<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::Path(path) if path.qself.is_none() && path.path.is_ident("Self") => {
                *ty = self.0.clone();
            }
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }

    // `self` itself keeps its form: `self: Arc<Self>`.
    fn visit_receiver_mut(&mut self, _: &mut syn::Receiver) {}
}
