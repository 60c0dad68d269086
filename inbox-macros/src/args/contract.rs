use proc_macro2::{Span, TokenStream};
use syn::{LitStr, Path, Type};

use super::list::ArgList;
use super::read::{self, Spanned};
use crate::errors::Errors;
use crate::words::{
    CONCURRENCY_KEY, CRATE, IDEMPOTENCY_KEY, NAME, ORDERING_KEY, UPGRADES, VERSION, Vocabulary,
};

/// What `#[inbox_contract(..)]` and `contract!(Type, ..)` say.
pub(crate) struct ContractArgs {
    pub(crate) name: Option<LitStr>,
    pub(crate) version: Option<Spanned<u32>>,
    pub(crate) idempotency_key: Option<LitStr>,
    pub(crate) ordering_key: Option<LitStr>,
    pub(crate) concurrency_key: Option<LitStr>,
    pub(crate) upgrades: Option<Type>,
    pub(crate) krate: Option<Path>,
    /// Whether there is a concurrency key, right or wrong.
    pub(crate) has_concurrency_key: bool,
}

impl ContractArgs {
    pub(crate) fn parse(
        pieces: Vec<TokenStream>,
        vocabulary: Vocabulary,
        errors: &mut Errors,
    ) -> Self {
        let mut list = ArgList::parse(pieces, vocabulary, errors);
        let (name, version) = (list.take(NAME), list.take(VERSION));
        for (given, word) in [(&name, NAME), (&version, VERSION)] {
            if given.is_none() {
                let message = format!("`{}` is missing: write `{}`", word.name, word.example);
                errors.at(Span::call_site(), message);
            }
        }
        let concurrency_key = list.take(CONCURRENCY_KEY);
        Self {
            has_concurrency_key: concurrency_key.is_some(),
            name: read::string(name, NAME, errors),
            version: read::integer(version, VERSION, 1, errors),
            idempotency_key: read::string(list.take(IDEMPOTENCY_KEY), IDEMPOTENCY_KEY, errors),
            ordering_key: read::string(list.take(ORDERING_KEY), ORDERING_KEY, errors),
            concurrency_key: read::string(concurrency_key, CONCURRENCY_KEY, errors),
            upgrades: read::ty(list.take(UPGRADES), UPGRADES, errors),
            krate: read::path(list.take(CRATE), CRATE, errors),
        }
    }
}
