//! One message, before and after it was accepted, and what it is made of.

mod envelope;
mod headers;
mod id;
mod payload;
mod redact;
mod stored;

pub use envelope::Envelope;
pub use headers::Headers;
pub use id::{MessageId, ParseMessageIdError};
pub use payload::{Payload, PayloadError};
pub use stored::Message;
