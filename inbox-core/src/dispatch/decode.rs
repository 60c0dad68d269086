use crate::message::{Message, Payload};
use crate::outcome::HandlerError;
use crate::panic::caught;
use crate::schedule::Codec;

/// Makes the payload of `message` what it was before `codec` encoded it. A panic of the codec is an error.
///
/// # Errors
/// When the codec cannot read it; the payload is gone then.
pub fn decode(codec: &dyn Codec, message: &mut Message) -> Result<(), HandlerError> {
    let payload = std::mem::replace(&mut message.payload, Payload::from_bytes(Vec::new()));
    let decoded = caught(|| codec.decode(&(&*message).into(), payload))?;
    message.payload =
        decoded.map_err(|error| HandlerError::Codec { message_id: message.id, error })?;
    Ok(())
}
