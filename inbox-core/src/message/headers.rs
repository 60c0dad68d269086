use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Names and values that travel with a message beside its payload.
///
/// Cheap to clone. As a handler's argument it gives the headers of the message at hand. `Debug`
/// shows the names only, because values carry tokens.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Option<Arc<BTreeMap<String, String>>>);

impl Headers {
    /// No headers; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// The value of the header `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.get(name).map(String::as_str)
    }

    /// All headers, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|map| map.iter().map(|(name, value)| (&**name, &**value)))
    }

    /// How many headers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |map| map.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        let map: BTreeMap<String, String> =
            headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self((!map.is_empty()).then(|| Arc::new(map)))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_by_name_and_listed_in_order() {
        let headers: Headers = [("b", "2"), ("a", "1")].into_iter().collect();
        assert_eq!(headers.get("b"), Some("2"));
        assert_eq!(headers.get("c"), None);
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
    }

    #[test]
    fn debug_shows_names_but_no_values() {
        let headers: Headers = [("authorization", "Bearer secret")].into_iter().collect();
        assert_eq!(format!("{headers:?}"), r#"{"authorization"}"#);
    }
}
