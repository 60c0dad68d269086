use super::{Contract, DecodeError, Lineage};
use crate::contract::decode;
use crate::message::Payload;

/// A contract that can be made of an older version of itself: any type with `From<Old>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot upgrade `{Old}`: there is no conversion between them",
    label = "`{Self}` needs `From<{Old}>`",
    note = "write `impl From<{Old}> for {Self}`, which turns an older message into this one"
)]
pub trait UpgradesFrom<Old>: Sized {
    /// The newer form of `old`.
    fn upgrade(old: Old) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<Old>, Old> UpgradesFrom<Old> for T {
    fn upgrade(old: Old) -> Self {
        Self::from(old)
    }
}

/// The step to `New` from the version before it, without the older type.
#[derive(Debug)]
pub struct Upgrade<New> {
    /// The versions that can be read through this step.
    pub older: &'static Lineage,
    older_name: &'static str,
    older_version: u32,
    decode: fn(u32, &Payload) -> Result<New, DecodeError>,
}

/// The step to `New` from `Old`.
#[must_use]
pub const fn upgrade<New: UpgradesFrom<Old>, Old: Contract>() -> Upgrade<New> {
    Upgrade {
        older: <Old as LineageRef>::LINEAGE,
        older_name: Old::NAME,
        older_version: Old::VERSION,
        decode: |version, payload| Old::decode(version, payload).map(New::upgrade),
    }
}

impl<New> Upgrade<New> {
    /// Checks, while compiling, that the step leads to `version` of the contract `name`.
    ///
    /// # Panics
    /// With `refusal`, if it starts elsewhere. This is the compile error that users see.
    #[track_caller]
    pub const fn check(&self, name: &str, version: u32, refusal: &'static str) {
        if self.older_name.is_empty() {
            // Its own attribute is wrong and says so.
            return;
        }
        assert!(same(name, self.older_name) && self.older_version < version, "{}", refusal);
    }
}

impl<New: Contract> Upgrade<New> {
    /// Reads `payload` as `New`, through the older type where the row is older.
    ///
    /// # Errors
    /// When the payload does not fit its version, or no step reads that version.
    pub fn decode(&self, version: u32, payload: &Payload) -> Result<New, DecodeError> {
        if self.older.reads(version) {
            (self.decode)(version, payload)
        } else {
            decode::exactly(version, payload)
        }
    }
}

/// A contract's lineage behind a reference that outlives everything.
trait LineageRef {
    const LINEAGE: &'static Lineage;
}

impl<T: Contract> LineageRef for T {
    const LINEAGE: &'static Lineage = &T::LINEAGE;
}

/// `==` for strings, which is not yet possible in constants.
const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}
