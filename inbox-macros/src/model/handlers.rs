use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens as _;
use syn::token::Paren;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, ExprPath, ImplItem, ImplItemFn, ItemImpl, MacroDelimiter, Meta, MetaList, Path,
    QSelf, Type, parse_quote,
};

use super::spelled::Spelled;
use super::{Handler, conditions, is_ours, krate};
use crate::args::HandlersArgs;
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
        let krate = krate(HandlersArgs::parse(args, errors).krate);
        refuse_block(&item, errors);
        let owner = (*item.self_ty).clone();
        let mut handlers = Vec::new();
        for method in item.items.iter_mut().filter_map(as_method) {
            for attribute in take_handler_attributes(method, &krate) {
                let mut handler = read_method(&attribute, method, &owner, errors);
                if handler.args.krate.is_none() {
                    handler.krate = krate.clone();
                }
                handlers.push(handler);
            }
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

/// The `#[handler]` attributes of a method, which are marked as read.
fn take_handler_attributes(method: &mut ImplItemFn, krate: &Path) -> Vec<Attribute> {
    let is_handler = |attribute: &&mut Attribute| {
        let last = attribute.path().segments.last();
        last.is_some_and(|segment| segment.ident == "handler") && is_ours(attribute.path(), krate)
    };
    let mark = |attribute: &mut Attribute| {
        let read = attribute.clone();
        attribute.meta = Meta::List(MetaList {
            path: read.path().clone(),
            delimiter: MacroDelimiter::Paren(Paren::default()),
            tokens: Ident::new(REGISTERED, Span::call_site()).into_token_stream(),
        });
        read
    };
    method.attrs.iter_mut().filter(is_handler).map(mark).collect()
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
    let mut handler = Handler::read(args, Some(attribute), &signature, errors);
    handler.owner = Some(owner.clone());
    handler.conditions = conditions(&method.attrs);
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
    Spelled::check_owner(&item.self_ty, errors);
    if let Some((path, _)) = &item.trait_ {
        errors.over(path, "handlers are inherent methods: write `impl Type`, not `impl Trait for`");
    }
}

/// Writes the block's type for `Self`.
struct NameSelf<'a>(&'a Type);

impl NameSelf<'_> {
    /// `Self::Part` becomes `<Type>::Part`.
    fn qualify(&self, qself: &mut Option<QSelf>, path: &mut Path) {
        let starts = path.segments.first().is_some_and(|segment| segment.ident == "Self");
        if qself.is_none() && starts && path.segments.len() > 1 {
            let owner = self.0;
            let rest = path.segments.iter().skip(1);
            let qualified: ExprPath = parse_quote!(<#owner>::#(#rest)::*);
            (*qself, *path) = (qualified.qself, qualified.path);
        }
    }
}

impl VisitMut for NameSelf<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::Path(path) if path.qself.is_none() && path.path.is_ident("Self") => {
                *ty = self.0.clone();
            }
            Type::Path(path) => {
                self.qualify(&mut path.qself, &mut path.path);
                visit_mut::visit_type_path_mut(self, path);
            }
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }

    fn visit_expr_path_mut(&mut self, path: &mut ExprPath) {
        self.qualify(&mut path.qself, &mut path.path);
        visit_mut::visit_expr_path_mut(self, path);
    }

    // `self` itself keeps its form: `self: Arc<Self>`.
    fn visit_receiver_mut(&mut self, _: &mut syn::Receiver) {}
}
