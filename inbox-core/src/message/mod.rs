//! One message, what it is made of, and the envelope it is accepted in.

mod carry;
mod content;
mod delivery;
mod envelope;
mod flaw;
mod headers;
mod id;
mod payload;
mod redact;
mod same;
mod start;

pub use carry::Carry;
pub use content::Message;
pub use delivery::{Delivery, Shares};
pub use envelope::{Envelope, OnConflict};
pub use headers::Headers;
pub use id::{MessageId, ParseMessageIdError};
pub use payload::{Payload, PayloadError};
pub use start::{Priority, Start};
