use super::panic::caught;
use crate::handler::HandlerError;
use crate::message::{Message, Payload};
use crate::schedule::Codec;

/// The payload of `message` as it was before `codec` encoded it. A panic of the codec is an error.
///
/// # Errors
/// When the codec cannot read it.
pub fn decoded(codec: &dyn Codec, message: &Message) -> Result<Payload, HandlerError> {
    caught(|| codec.decode(&message.into(), message.payload.clone()))?
        .map_err(|error| HandlerError::Codec { message_id: message.id, error })
}
