use syn::visit::Visit;
use syn::{
    FnArg, GenericParam, Ident, Lifetime, ReceiverKind, ReturnType, Safety, Signature, Type,
    TypeImplTrait, TypeReference,
};

use super::{CommandParameter, Parameter, ungrouped};
use crate::errors::Errors;

/// The signature of a handler, taken apart.
pub(crate) struct Function {
    pub(crate) ident: Ident,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) command: Option<CommandParameter>,
    pub(crate) parameters: Vec<Parameter>,
    /// What it returns, unless nothing.
    pub(crate) output: Option<Type>,
}

/// How a method takes the value it belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Receiver {
    /// `&self`
    Borrowed,
    /// `self: Arc<Self>`
    Shared,
}

impl Function {
    pub(crate) fn read(signature: &Signature, errors: &mut Errors) -> Self {
        refuse_qualifiers(signature, errors);
        refuse_generics(signature, errors);
        Concrete(errors).visit_signature(signature);
        let typed = signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_)));
        let (first, rest) = (typed.clone().next(), typed.skip(1));
        if first.is_none() {
            errors.at(
                signature.paren_token.span.join(),
                "the command is missing: a handler's first parameter is the contract it handles, \
                 such as `command: ProcessPayment`",
            );
        }
        Self {
            ident: signature.ident.clone(),
            receiver: receiver(signature, errors),
            command: first.and_then(|input| CommandParameter::read(input, errors)),
            parameters: rest.filter_map(|input| Parameter::read(input, errors)).collect(),
            output: match &signature.output {
                ReturnType::Default => None,
                ReturnType::Type(_, ty) => Some((**ty).clone()),
            },
        }
    }
}

fn refuse_qualifiers(signature: &Signature, errors: &mut Errors) {
    let ident = &signature.ident;
    if signature.asyncness.is_none() {
        let message = format!("a handler is async: write `async fn {ident}`");
        errors.at(signature.fn_token.span, message);
    }
    if let Safety::Unsafe(token) = signature.safety {
        errors.at(token.span, "a handler cannot be `unsafe`: the inbox calls it on its own");
    }
    if let Some(abi) = &signature.abi {
        errors.over(abi, "a handler is a plain Rust function: drop the `extern`");
    }
}

fn refuse_generics(signature: &Signature, errors: &mut Errors) {
    for param in &signature.generics.params {
        if !matches!(param, GenericParam::Lifetime(_)) {
            errors.over(
                param,
                "a handler cannot be generic, because a stored delivery must find one function: \
                 write one handler for each contract",
            );
        }
    }
}

/// Refuses types that are not spelled out: a delivery must find one function.
struct Concrete<'a>(&'a mut Errors);

impl<'ast> Visit<'ast> for Concrete<'_> {
    fn visit_type_impl_trait(&mut self, ty: &'ast TypeImplTrait) {
        self.0.over(ty, "a handler's types are concrete: write the type's name for `impl Trait`");
    }

    // Named lifetimes and those of `&` are the function's own affair.
    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident == "_" {
            self.0.over(lifetime, "a handler's arguments own what they hold: no `'_` here");
        }
    }

    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        self.visit_type(&reference.elem);
    }

    fn visit_receiver(&mut self, _: &'ast syn::Receiver) {}
}

fn receiver(signature: &Signature, errors: &mut Errors) -> Option<Receiver> {
    let receiver = signature.receiver()?;
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => return Some(Receiver::Borrowed),
        ReceiverKind::Typed(_, ty) if is_arc(ty) => return Some(Receiver::Shared),
        _ => errors.over(
            receiver,
            "deliveries run at the same time and share the value: write `&self` or \
             `self: Arc<Self>`",
        ),
    }
    None
}

fn is_arc(ty: &Type) -> bool {
    let Type::Path(path) = ungrouped(ty) else { return false };
    path.path.segments.last().is_some_and(|segment| segment.ident == "Arc")
}
