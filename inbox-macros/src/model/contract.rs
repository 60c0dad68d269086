use proc_macro2::TokenStream;
use syn::{Attribute, Data, DeriveInput, GenericParam, LitStr, Path, Type, parse_quote};

use super::{Template, conditions, krate};
use crate::args::{ContractArgs, Spanned, split_at_commas};
use crate::errors::Errors;
use crate::words::{CONTRACT, INBOX_CONTRACT};

/// One contract: a type with its name, version and keys.
///
/// What was missing or wrong is `None`; it was reported, and nothing is expanded then.
pub(crate) struct Contract {
    pub(crate) ty: Option<Type>,
    pub(crate) fields: Fields,
    pub(crate) conditions: Vec<Attribute>,
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
        Self::new(args, ty, fields(item, errors), conditions(&item.attrs), errors)
    }

    /// `contract!(Archive<String>, ..)`
    pub(crate) fn of_type(input: TokenStream, errors: &mut Errors) -> Self {
        let mut pieces = split_at_commas(input);
        let is_argument =
            |piece: &TokenStream| piece.clone().into_iter().any(|token| token.to_string() == "=");
        let ty = match pieces.first() {
            Some(first) if !is_argument(first) => pieces.remove(0),
            _ => TokenStream::new(),
        };
        let args = ContractArgs::parse(pieces, CONTRACT, errors);
        let parsed = syn::parse2(ty.clone());
        if parsed.is_err() {
            errors.over(
                ty,
                "expected the type first: write `contract!(Archive<String>, name = \"...\", \
                 version = 1);`",
            );
        }
        Self::new(args, parsed.ok(), Fields::Unknown, Vec::new(), errors)
    }

    fn new(
        args: ContractArgs,
        ty: Option<Type>,
        fields: Fields,
        conditions: Vec<Attribute>,
        errors: &mut Errors,
    ) -> Self {
        let keys = Keys {
            idempotency: Template::parse(args.idempotency_key, errors),
            ordering: Template::parse(args.ordering_key, errors),
            concurrency: Template::parse(args.concurrency_key, errors),
        };
        let (name, version, upgrades) = (args.name, args.version, args.upgrades);
        let krate = krate(args.krate);
        Self { ty, fields, conditions, name, version, keys, upgrades, krate }
    }
}

fn fields(item: &DeriveInput, errors: &mut Errors) -> Fields {
    match &item.data {
        Data::Struct(data) => {
            let names = data.fields.iter().enumerate().map(|(at, field)| match &field.ident {
                Some(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
                None => at.to_string(),
            });
            Fields::Named(names.collect())
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
