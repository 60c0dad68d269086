use syn::{FnArg, GenericParam, Ident, Path, ReceiverKind, ReturnType, Safety, Signature, Type};

use super::spelled::Spelled;
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
    /// `is_batch` says whether the attribute asks for a batch; `krate` is the `inbox` crate.
    pub(crate) fn read(
        signature: &Signature,
        is_batch: bool,
        krate: &Path,
        errors: &mut Errors,
    ) -> Self {
        refuse_qualifiers(signature, errors);
        refuse_generics(signature, errors);
        Spelled::check(signature, errors);
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
            command: first.and_then(|input| {
                let others = rest.clone().next().is_some();
                CommandParameter::read(input, is_batch, others, krate, errors)
            }),
            parameters: rest.filter_map(|input| Parameter::read(input, krate, errors)).collect(),
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

fn receiver(signature: &Signature, errors: &mut Errors) -> Option<Receiver> {
    let receiver = signature.receiver()?;
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => return Some(Receiver::Borrowed),
        ReceiverKind::Typed(_, ty) if is_arc(ty) => return Some(Receiver::Shared),
        ReceiverKind::Typed(_, ty) if is_reference(ty) => return Some(Receiver::Borrowed),
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

/// `self: &Self`
fn is_reference(ty: &Type) -> bool {
    matches!(ungrouped(ty), Type::Reference(reference) if reference.mutability.is_none())
}
