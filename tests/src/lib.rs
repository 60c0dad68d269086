//! What the tests of this crate share.

pub mod deliver;
pub mod faulty;
pub mod fixture;
pub mod held_back;
pub mod log;
pub mod outage;
pub mod phase;
pub mod seen;
pub mod stale;

/// Whatever goes wrong in a program of these tests.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
