use syn::visit::{self, Visit};
use syn::{
    FnArg, Lifetime, ParenthesizedGenericArguments, ReturnType, Signature, Type, TypeFnPtr,
    TypeImplTrait, TypeReference,
};

use super::ungrouped;
use crate::errors::Errors;

/// Refuses types that are not spelled out in full, and those that borrow: the registry names them
/// again outside the function, where neither a hidden type nor a lifetime of it means anything.
pub(super) struct Spelled<'a>(&'a mut Errors);

impl Spelled<'_> {
    pub(super) fn check(signature: &Signature, errors: &mut Errors) {
        let mut spelled = Spelled(errors);
        for input in &signature.inputs {
            let FnArg::Typed(typed) = input else { continue };
            match ungrouped(&typed.ty) {
                // `&mut T` is a loan, and what else is borrowed is refused for that.
                Type::Reference(reference) => spelled.visit_type(&reference.elem),
                ty => spelled.visit_type(ty),
            }
        }
        if let ReturnType::Type(_, ty) = &signature.output {
            spelled.visit_type(ty);
        }
    }

    /// The type of an impl block, whose value the registry keeps.
    pub(super) fn check_owner(owner: &Type, errors: &mut Errors) {
        Spelled(errors).visit_type(owner);
    }
}

impl<'ast> Visit<'ast> for Spelled<'_> {
    fn visit_type_impl_trait(&mut self, ty: &'ast TypeImplTrait) {
        self.0.over(ty, "a handler's types are concrete: write the type's name for `impl Trait`");
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.0.over(
                lifetime,
                "a handler and its arguments own what they hold: write `'static`, or own the data",
            );
        }
    }

    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        if reference.lifetime.is_none() {
            self.0.over(
                reference,
                "a handler and its arguments own what they hold: write `&'static`, or own the data",
            );
        }
        visit::visit_type_reference(self, reference);
    }

    // Lifetimes inside `fn(&str)` and `Fn(&str)` are that function's.
    fn visit_type_fn_ptr(&mut self, _: &'ast TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments(&mut self, _: &'ast ParenthesizedGenericArguments) {}
}
