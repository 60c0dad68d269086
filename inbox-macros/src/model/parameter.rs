use syn::{FnArg, GenericArgument, PathArguments, Type};

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
        match &*typed.ty {
            Type::Reference(reference) => {
                let elem = &reference.elem;
                errors.over(
                    reference,
                    "a handler takes its command by value: drop the `&`, the handler owns it",
                );
                Some(Self { ty: (**elem).clone(), is_batch: false })
            }
            Type::ImplTrait(ty) => {
                errors.over(ty, "a handler takes one concrete contract, not `impl Trait`");
                None
            }
            ty => Some(match batch_of(ty) {
                Some(command) => Self { ty: command, is_batch: true },
                None => Self { ty: ty.clone(), is_batch: false },
            }),
        }
    }
}

/// The `T` of `Batch<T>`.
fn batch_of(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Batch")?;
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
        match &*typed.ty {
            Type::Reference(reference) if reference.mutability.is_some() => {
                Some(Self { ty: (*reference.elem).clone(), is_lent: true })
            }
            Type::Reference(reference) => {
                errors.over(
                    reference,
                    "a handler takes extractors by value, such as `State<T>`; only what a layer \
                     lends is borrowed, as `&mut T`",
                );
                None
            }
            Type::ImplTrait(ty) => {
                errors.over(ty, "a handler's arguments have concrete types, not `impl Trait`");
                None
            }
            ty => Some(Self { ty: ty.clone(), is_lent: false }),
        }
    }
}
