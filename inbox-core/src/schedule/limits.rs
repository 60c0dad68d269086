use std::time::Duration;

/// How large a message may be. What is larger is refused before anything is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Characters of a key, an id, a tenant or a header's name.
    pub name: usize,
    /// Bytes of the payload.
    pub payload: usize,
    /// Bytes of all headers together, names and values.
    pub headers: usize,
    /// The longest delay; a longer one is a mistake in a unit.
    pub delay: Duration,
}

impl Default for Limits {
    /// 200 characters, 1 MiB of payload, 16 KiB of headers, 10 years.
    fn default() -> Self {
        Self {
            name: 200,
            payload: 1024 * 1024,
            headers: 16 * 1024,
            delay: Duration::from_hours(10 * 365 * 24),
        }
    }
}
