use std::fmt::{self, Display};

/// The keys of a contract as its attribute spells them, such as `payment:{payment_id}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTemplates {
    /// Which messages are one message.
    pub idempotency: Option<&'static str>,
    /// Which messages are handled in order.
    pub ordering: Option<&'static str>,
    /// Which messages share a limit.
    pub concurrency: Option<&'static str>,
}

impl KeyTemplates {
    /// No keys.
    pub const NONE: Self = Self { idempotency: None, ordering: None, concurrency: None };
}

/// A field that can be written into a key: anything that implements `Display`.
#[diagnostic::on_unimplemented(
    message = "a key cannot be made of `{Self}`, which does not implement `Display`",
    label = "this key names a field of type `{Self}`",
    note = "keys are stored and compared, so every field in them needs one written form: \
            implement `std::fmt::Display` for `{Self}`, or name another field"
)]
pub trait KeyPart {
    /// Writes the part, honouring width and precision.
    ///
    /// # Errors
    /// When the formatter fails.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> KeyPart for T {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt(f)
    }
}

/// A field, ready to be written into a key.
#[expect(missing_debug_implementations, reason = "lives for one `format!`")]
pub struct Written<'a>(&'a dyn KeyPart);

impl Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f)
    }
}

/// Borrows a field for writing it into a key.
///
/// What it returns does not depend on `T`, so a field that cannot be written is reported once.
pub fn key_part<T: KeyPart>(part: &T) -> Written<'_> {
    Written(part)
}
