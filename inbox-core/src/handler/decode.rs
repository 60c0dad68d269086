use crate::contract::{Contract, DecodeError};
use crate::message::Delivery;
use crate::outcome::HandlerError;
use crate::panic::caught;

/// Reads the message of `delivery` as `T`.
pub(super) fn message<T: Contract>(delivery: &Delivery) -> Result<T, HandlerError> {
    let message = &delivery.message;
    let decoded = match message.contract == T::NAME {
        true => caught(|| T::decode(message.version, &message.payload)).unwrap_or_else(|_| {
            Err(DecodeError::Panicked { contract: T::NAME, version: message.version })
        }),
        false => {
            Err(DecodeError::OtherContract { expected: T::NAME, found: message.contract.clone() })
        }
    };
    decoded.map_err(|error| HandlerError::Undecodable { message_id: message.id, error })
}
