use super::batch::DecodedBatch;
use super::decode;
use crate::contract::{Contract, Lineage};
use crate::outcome::HandlerError;
use crate::request::Request;

/// Which contract a handler takes, without its type.
#[derive(Debug, Clone, Copy)]
pub struct ContractRef {
    /// The contract's stable name.
    pub name: &'static str,
    /// The version of the handler's command type.
    pub version: u32,
    /// The versions the handler can be given.
    pub lineage: Lineage,
}

/// What a handler's first parameter is, and how a request becomes one.
///
/// Code that uses it needs no bound on `C`: a type that is no contract is then reported once,
/// where the handler names it.
#[derive(Debug)]
pub struct Command<C> {
    /// The contract without its type.
    pub contract: ContractRef,
    /// Whether messages carry a concurrency key.
    pub has_concurrency_key: bool,
    decode: fn(&Request) -> Result<C, HandlerError>,
}

/// A handler takes one `T`.
#[must_use]
pub const fn command<T: Contract>() -> Command<T> {
    Command::new::<T>(|request| decode::message(request.only_delivery()?))
}

/// A handler takes a batch of `T`.
#[must_use]
pub const fn batch<T: Contract>() -> Command<DecodedBatch<T>> {
    Command::new::<T>(DecodedBatch::of)
}

impl<C> Command<C> {
    const fn new<T: Contract>(decode: fn(&Request) -> Result<C, HandlerError>) -> Self {
        Self {
            contract: ContractRef { name: T::NAME, version: T::VERSION, lineage: T::LINEAGE },
            has_concurrency_key: T::KEYS.concurrency.is_some(),
            decode,
        }
    }

    /// Decodes what `request` carries.
    ///
    /// # Errors
    /// When a stored payload cannot be read.
    pub fn decode(&self, request: &Request) -> Result<C, HandlerError> {
        (self.decode)(request)
    }
}
