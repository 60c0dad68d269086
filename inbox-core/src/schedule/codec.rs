use crate::error::BoxError;
use crate::message::{Message, MessageId, Payload};

/// What stands between a command's JSON and the JSON that is stored: the place to encrypt.
///
/// What [`encode`](Self::encode) answers must be JSON too, since stores keep payloads as such: put
/// bytes into a string, with the key's name beside it so that keys can be changed. Name, version,
/// keys and headers of a message stay readable.
///
/// ```
/// use inbox::dispatch::BoxError;
/// use inbox::message::Payload;
/// use inbox::schedule::{About, Codec};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Sealed { key: String, bytes: Vec<u8> }
///
/// /// Turns bits around; a real one calls a cipher, with `about` as associated data.
/// struct Mirror;
///
/// impl Codec for Mirror {
///     fn encode(&self, _: &About<'_>, payload: Payload) -> Result<Payload, BoxError> {
///         let bytes = payload.as_bytes().iter().map(|byte| !byte).collect();
///         Ok(Payload::encode(&Sealed { key: "2026-11".to_owned(), bytes })?)
///     }
///
///     fn decode(&self, _: &About<'_>, payload: Payload) -> Result<Payload, BoxError> {
///         let sealed: Sealed = payload.decode()?;
///         Ok(Payload::from_bytes(sealed.bytes.iter().map(|byte| !byte).collect()))
///     }
/// }
/// ```
pub trait Codec: Send + Sync + 'static {
    /// The payload as it is to be stored.
    ///
    /// # Errors
    /// When it cannot be made; the command is then not accepted.
    fn encode(&self, about: &About<'_>, payload: Payload) -> Result<Payload, BoxError>;

    /// The payload as it was before `encode`.
    ///
    /// # Errors
    /// When it cannot be read; the attempt then has failed, and is made again like any other.
    fn decode(&self, about: &About<'_>, payload: Payload) -> Result<Payload, BoxError>;
}

/// The message that a payload belongs to, the same at `encode` and at `decode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct About<'a> {
    /// The message.
    pub message_id: MessageId,
    /// The contract's name.
    pub contract: &'a str,
    /// The contract's version.
    pub version: u32,
    /// Whose message it is; empty where an application has no tenants.
    pub tenant: &'a str,
}

impl<'a> From<&'a Message> for About<'a> {
    fn from(message: &'a Message) -> Self {
        let Message { id, contract, version, tenant, .. } = message;
        Self { message_id: *id, contract, version: *version, tenant }
    }
}

/// Whether a message says the same as the first one with its key, whatever the codec, the order of
/// JSON's members and a change of version made of them.
pub(super) fn same_payload(
    codec: Option<&dyn Codec>,
    message: &Message,
    first: &Message,
    upgrade: fn(u32, &Payload) -> Option<Payload>,
) -> bool {
    if message.version == first.version && message.payload == first.payload {
        return true;
    }
    let plain = |message: &Message| match codec {
        Some(codec) => codec.decode(&message.into(), message.payload.clone()).ok(),
        None => Some(message.payload.clone()),
    };
    let first_plain = match message.version == first.version {
        true => plain(first),
        false => plain(first).and_then(|payload| upgrade(first.version, &payload)),
    };
    match (plain(message), first_plain) {
        (Some(message), Some(first)) => message.says_the_same_as(&first),
        _ => false,
    }
}
