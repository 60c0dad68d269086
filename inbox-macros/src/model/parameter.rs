use syn::{FnArg, GenericArgument, PatType, Path, PathArguments, Type};

use super::{is_ours, ungrouped};
use crate::errors::Errors;

/// The first parameter of a handler.
pub(crate) struct CommandParameter {
    /// The command's type; of a batch, the type of each command.
    pub(crate) ty: Type,
    pub(crate) is_batch: bool,
}

impl CommandParameter {
    /// `is_batch` says whether the attribute asks for one; `others` whether parameters follow.
    pub(super) fn read(
        argument: &FnArg,
        is_batch: bool,
        others: bool,
        krate: &Path,
        errors: &mut Errors,
    ) -> Option<Self> {
        let FnArg::Typed(typed) = argument else { return None };
        refuse_conditions(typed, errors);
        match ungrouped(&typed.ty) {
            Type::Reference(reference) => {
                errors.over(
                    reference,
                    "a handler takes its command by value: drop the `&`, the handler owns it",
                );
                Some(Self { ty: (*reference.elem).clone(), is_batch: false })
            }
            ty if others && names_extractor(ty, krate) => {
                errors.over(
                    ty,
                    "the command comes first, the extractors after it: swap the parameters (or \
                     write `self::` before a contract of your own with this name)",
                );
                None
            }
            ty => Some(match batch_of(ty, is_batch, krate) {
                Some(command) => Self { ty: command, is_batch: true },
                None => Self { ty: ty.clone(), is_batch: false },
            }),
        }
    }
}

/// Whether this is one of our own extractors, by its name.
fn names_extractor(ty: &Type, krate: &Path) -> bool {
    let Type::Path(path) = ty else { return false };
    let name = path.path.segments.last().map(|segment| segment.ident.to_string());
    is_ours(&path.path, krate) && matches!(name.as_deref(), Some("State" | "Context" | "Headers"))
}

/// The `T` of `Batch<T>`, whoever's it is if a batch was asked for.
fn batch_of(ty: &Type, is_batch: bool, krate: &Path) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|_| is_batch || is_ours(&path.path, krate))?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) if last.ident == "Batch" && arguments.args.len() == 1 => {
            Some(ty.clone())
        }
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
    pub(super) fn read(argument: &FnArg, krate: &Path, errors: &mut Errors) -> Option<Self> {
        let FnArg::Typed(typed) = argument else { return None };
        refuse_conditions(typed, errors);
        match ungrouped(&typed.ty) {
            Type::Reference(reference) if reference.mutability.is_some() => {
                Some(Self { ty: (*reference.elem).clone(), is_lent: true })
            }
            Type::Reference(reference) => {
                let taken = match ungrouped(&reference.elem) {
                    ty if names_extractor(ty, krate) => "drop the `&`",
                    _ => "write `State<T>` for a value of the builder's `.state(value)`",
                };
                errors.over(
                    reference,
                    format!(
                        "a handler takes extractors by value: {taken}; what the store or a layer \
                         lends, such as a transaction, is borrowed as `&mut T`"
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
