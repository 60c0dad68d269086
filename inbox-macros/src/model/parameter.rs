use syn::{FnArg, GenericArgument, PatType, Path, PathArguments, Type};

use super::ungrouped;
use crate::errors::Errors;

/// The first parameter of a handler.
pub(crate) struct CommandParameter {
    /// The command's type; of a batch, the type of each command.
    pub(crate) ty: Type,
    pub(crate) is_batch: bool,
}

impl CommandParameter {
    pub(super) fn read(argument: &FnArg, errors: &mut Errors) -> Option<Self> {
        let FnArg::Typed(typed) = argument else { return None };
        refuse_conditions(typed, errors);
        match ungrouped(&typed.ty) {
            Type::Reference(reference) => {
                let elem = &reference.elem;
                errors.over(
                    reference,
                    "a handler takes its command by value: drop the `&`, the handler owns it",
                );
                Some(Self { ty: (**elem).clone(), is_batch: false })
            }
            ty if names_extractor(ty) => {
                errors.over(
                    ty,
                    "the command comes first, the extractors after it: swap the parameters",
                );
                None
            }
            ty => Some(match batch_of(ty) {
                Some(command) => Self { ty: command, is_batch: true },
                None => Self { ty: ty.clone(), is_batch: false },
            }),
        }
    }
}

/// Whether this is one of our own extractors. Contracts of the same name can be had by a path.
fn names_extractor(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let name = path.path.segments.last().map(|segment| segment.ident.to_string());
    is_ours(&path.path) && matches!(name.as_deref(), Some("State" | "Context" | "Headers"))
}

/// `Name` or `inbox::Name`.
fn is_ours(path: &Path) -> bool {
    path.segments.len() == 1
        || path.segments.len() == 2 && path.segments.first().is_some_and(|s| s.ident == "inbox")
}

/// The `T` of `Batch<T>`.
fn batch_of(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|_| is_ours(&path.path));
    let last = segment.filter(|segment| segment.ident == "Batch")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) if arguments.args.len() == 1 => Some(ty.clone()),
        _ => None,
    }
}

/// A parameter after the command.
pub(crate) struct Parameter {
    /// The extractor; for `&mut T`, the `T` that a layer lends.
    pub(crate) ty: Type,
    pub(crate) is_lent: bool,
}

impl Parameter {
    pub(super) fn read(argument: &FnArg, errors: &mut Errors) -> Option<Self> {
        let FnArg::Typed(typed) = argument else { return None };
        refuse_conditions(typed, errors);
        match ungrouped(&typed.ty) {
            Type::Reference(reference) if reference.mutability.is_some() => {
                Some(Self { ty: (*reference.elem).clone(), is_lent: true })
            }
            Type::Reference(reference) => {
                let taken = match ungrouped(&reference.elem) {
                    ty if names_extractor(ty) => "drop the `&`",
                    _ => "write `State<T>` for a value of the builder's `.state(value)`",
                };
                errors.over(
                    reference,
                    format!(
                        "a handler takes extractors by value: {taken}; only what a layer lends is \
                         borrowed, as `&mut T`"
                    ),
                );
                None
            }
            ty => Some(Self { ty: ty.clone(), is_lent: false }),
        }
    }
}

fn refuse_conditions(parameter: &PatType, errors: &mut Errors) {
    for attribute in &parameter.attrs {
        if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
            errors.over(
                attribute,
                "a handler's parameters cannot be conditional: write two functions, each under \
                 its own `#[cfg]`",
            );
        }
    }
}
