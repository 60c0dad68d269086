use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The counters that a delivery takes along from attempt to attempt, through every move of a store.
///
/// A store keeps them in one column, as the text that [`to_json`](Self::to_json) gives, and looks at none of
/// them: another counter is another field here, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Carry {
    /// How often the delivery came back after waiting.
    #[serde(skip_serializing_if = "is_none")]
    pub retries: u32,
    /// Counters of a newer program, which an older one hands on as they are.
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Carry {
    /// The text of a column; none while there is nothing to carry, as is true of most deliveries.
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        // Numbers under names: there is nothing in it that JSON could not say.
        serde_json::to_string(self).ok()
    }

    /// The counters in the text of a column.
    ///
    /// # Errors
    /// When the text is not what [`to_json`](Self::to_json) gives: someone changed it by hand.
    pub fn from_json(text: Option<&str>) -> Result<Self, String> {
        let read = |text| serde_json::from_str(text).map_err(|error| error.to_string());
        text.map_or(Ok(Self::default()), read)
    }

    /// After an attempt that is followed by another one.
    #[must_use]
    pub(crate) fn retried(&self) -> Self {
        Self { retries: self.retries.saturating_add(1), ..self.clone() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
const fn is_none(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_carry_is_no_text() {
        assert_eq!(Carry::default().to_json(), None);
        assert_eq!(Carry::from_json(None), Ok(Carry::default()));
    }

    #[test]
    fn counters_come_back_as_they_were() {
        let carry = Carry::default().retried().retried();
        assert_eq!(carry.to_json().as_deref(), Some(r#"{"retries":2}"#));
        assert_eq!(Carry::from_json(carry.to_json().as_deref()), Ok(carry));
    }

    #[test]
    fn what_a_newer_program_counts_is_handed_on() {
        let newer = Carry::from_json(Some(r#"{"retries":1,"snoozes":7}"#)).unwrap();
        assert_eq!(newer.retried().to_json().as_deref(), Some(r#"{"retries":2,"snoozes":7}"#));
    }

    #[test]
    fn what_is_no_counter_is_refused() {
        assert!(Carry::from_json(Some(r#"{"retries":"two"}"#)).is_err());
    }
}
