use proc_macro2::{TokenStream, TokenTree};
use syn::{Data, DeriveInput, GenericParam, LitStr, Path, Type, parse_quote};

use super::{Template, krate, member_name};
use crate::args::{ContractArgs, Spanned, find_outside_angles, split_at_commas};
use crate::errors::Errors;
use crate::words::{CONTRACT, INBOX_CONTRACT};

/// One contract: a type with its name, version and keys.
///
/// What was missing or wrong is `None`; it was reported, and nothing is expanded then.
pub(crate) struct Contract {
    pub(crate) ty: Option<Type>,
    pub(crate) fields: Fields,
    pub(crate) name: Option<LitStr>,
    pub(crate) version: Option<Spanned<u32>>,
    pub(crate) keys: Keys,
    pub(crate) upgrades: Option<Type>,
    pub(crate) krate: Path,
}

pub(crate) struct Keys {
    pub(crate) idempotency: Option<Template>,
    pub(crate) ordering: Option<Template>,
    pub(crate) concurrency: Option<Template>,
    /// Whether there is one, right or wrong.
    pub(crate) has_concurrency_key: bool,
}

/// What a key may name.
pub(crate) enum Fields {
    /// The fields of a struct; a tuple's are numbers.
    Named(Vec<String>),
    /// An enum has none that all its values share.
    OfEnum,
    /// The type stands elsewhere: the compiler will know.
    Unknown,
}

impl Contract {
    /// `#[inbox_contract(..)] struct ..`
    pub(crate) fn of_item(args: TokenStream, item: &DeriveInput, errors: &mut Errors) -> Self {
        let args = ContractArgs::parse(split_at_commas(args), INBOX_CONTRACT, errors);
        let ident = &item.ident;
        refuse_generics(item, errors);
        let stands_alone = item.generics.params.is_empty() && !matches!(item.data, Data::Union(_));
        let ty = stands_alone.then(|| parse_quote!(#ident));
        Self::new(args, ty, fields(item, errors), errors)
    }

    /// `contract!(Archive<String>, ..)`
    pub(crate) fn of_type(input: TokenStream, errors: &mut Errors) -> Self {
        let mut pieces = split_at_commas(input);
        let ty = leading_type(&mut pieces, errors);
        let parsed = ty.clone().and_then(|ty| syn::parse2(ty).ok());
        if parsed.is_none() {
            errors.over(
                ty,
                "expected the type first: write `contract!(Archive<String>, name = \"...\", \
                 version = 1);`",
            );
        }
        let args = ContractArgs::parse(pieces, CONTRACT, errors);
        Self::new(args, parsed, Fields::Unknown, errors)
    }

    fn new(args: ContractArgs, ty: Option<Type>, fields: Fields, errors: &mut Errors) -> Self {
        let keys = Keys {
            has_concurrency_key: args.has_concurrency_key,
            idempotency: Template::parse(args.idempotency_key, errors),
            ordering: Template::parse(args.ordering_key, errors),
            concurrency: Template::parse(args.concurrency_key, errors),
        };
        let (name, version, upgrades) = (args.name, args.version, args.upgrades);
        let krate = krate(args.krate);
        Self { ty, fields, name, version, keys, upgrades, krate }
    }
}

/// Takes the type out of `Type, name = ..`.
fn leading_type(pieces: &mut Vec<TokenStream>, errors: &mut Errors) -> Option<TokenStream> {
    let first: Vec<_> = pieces.first()?.clone().into_iter().collect();
    let assigns = |rest: &[TokenTree]| rest[0].to_string() == "=";
    let assignment = find_outside_angles(&first, 0, assigns);
    match assignment {
        None => Some(pieces.remove(0)),
        // It starts with an argument.
        Some(0 | 1) => None,
        // `Type name = ..`
        Some(at) => {
            let (ty, argument) = first.split_at(at - 1);
            errors.at(argument[0].span(), "expected a comma before this");
            pieces[0] = argument.iter().cloned().collect();
            Some(ty.iter().cloned().collect())
        }
    }
}

fn fields(item: &DeriveInput, errors: &mut Errors) -> Fields {
    match &item.data {
        Data::Struct(data) => {
            Fields::Named(data.fields.members().map(|member| member_name(&member)).collect())
        }
        Data::Enum(_) => Fields::OfEnum,
        Data::Union(data) => {
            errors.at(data.union_token.span, "a contract is a struct or an enum, not a union");
            Fields::Unknown
        }
    }
}

fn refuse_generics(item: &DeriveInput, errors: &mut Errors) {
    let ident = &item.ident;
    for param in &item.generics.params {
        let message = match param {
            GenericParam::Lifetime(_) => format!(
                "a contract owns its data, because it is stored: give `{ident}` owned fields, \
                 such as `String` for `&str`"
            ),
            GenericParam::Type(_) | GenericParam::Const(_) => format!(
                "an open generic cannot be a contract, because a stored row must be one type: \
                 take the attribute off `{ident}` and write \
                 `inbox::contract!({ident}<Concrete>, name = \"...\", version = 1);` for each \
                 closed type"
            ),
        };
        errors.over(param, message);
    }
}
