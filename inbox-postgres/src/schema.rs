use inbox_core::store::{StoreError, StoreErrorKind};

/// The longest name PostgreSQL keeps; it would cut a longer one without a word.
pub(crate) const LONGEST: usize = 63;

/// A schema's name, checked and quoted.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) quoted: String,
}

impl Schema {
    pub(crate) fn new(name: &str) -> Result<Self, StoreError> {
        let refused = |why: &str| {
            let message = format!("`{name}` cannot be the name of a schema: {why}");
            Err(StoreError::new(StoreErrorKind::Schema, message))
        };
        if name.is_empty() {
            return refused("it is empty");
        }
        if name.len() > LONGEST {
            return refused("it is longer than 63 bytes");
        }
        if name.contains('\0') {
            return refused("it contains the character U+0000");
        }
        if name.starts_with("pg_") {
            return refused("names that begin with `pg_` are PostgreSQL's own");
        }
        if name.contains("$$") {
            return refused("it contains `$$`, which ends the text of a function");
        }
        Ok(Self { name: name.to_owned(), quoted: quoted(name) })
    }

    /// The statement that creates it, where it is missing: to create one takes a right on the database,
    /// which a role that was given its schema need not have.
    pub(crate) fn create(&self) -> String {
        let Self { quoted, .. } = self;
        let create = format!(
            "BEGIN IF to_regnamespace({}) IS NULL THEN CREATE SCHEMA {quoted}; END IF; END",
            literal(quoted)
        );
        format!("DO {};\n", literal(&create))
    }

    /// The statement, with this name in the place of `:schema` and its channel in that of `:channel`.
    pub(crate) fn fill(&self, sql: &str) -> String {
        let channel = literal(&self.channel());
        // In one go: a name may contain what is replaced.
        let parts = sql.split(":channel").map(|part| in_schema(part, &self.quoted));
        parts.collect::<Vec<_>>().join(&channel)
    }

    /// What is notified when there is news, cut as PostgreSQL cuts names.
    pub(crate) fn channel(&self) -> String {
        let mut channel = format!("inbox.{}", self.name);
        channel.truncate(channel.floor_char_boundary(LONGEST));
        channel
    }
}

/// The text for the schema of this name, which is quoted already: `:schema` is the name, and `:position` that
/// of the sequence of positions, as a function takes it.
pub(crate) fn in_schema(text: &str, quoted: &str) -> String {
    let sequence = literal(&format!("{quoted}.position"));
    let parts = text.split(":schema").map(|part| part.replace(":position", &sequence));
    parts.collect::<Vec<_>>().join(quoted)
}

/// A name as SQL writes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Text as SQL writes it.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_and_one_that_cannot_be_is_refused_with_the_reason() {
        assert_eq!(Schema::new("Über \"us\"").unwrap().quoted, "\"Über \"\"us\"\"\"");
        for name in ["", "a\0b", "pg_inbox", "a$$b", &"x".repeat(64)] {
            assert!(Schema::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn the_channel_is_named_for_the_schema_and_no_longer_than_a_name_may_be() {
        let channel = |name: &str| Schema::new(name).unwrap().channel();
        assert_eq!(channel("inbox"), "inbox.inbox");
        assert_eq!(channel("Über \"us\""), "inbox.Über \"us\"");
        assert_eq!(channel(&"x".repeat(57)), format!("inbox.{}", "x".repeat(57)));
        assert_eq!(channel(&"x".repeat(63)), format!("inbox.{}", "x".repeat(57)));
        // A character is not cut in two.
        assert_eq!(channel(&"é".repeat(31)), format!("inbox.{}", "é".repeat(28)));
    }

    #[test]
    fn a_name_that_contains_a_placeholder_is_filled_in_as_it_is() {
        let schema = Schema::new("a:channel 'b':schema").unwrap();
        let filled = schema.fill(":schema.schedule() :channel");
        let channel = "'inbox.a:channel ''b'':schema'";
        assert_eq!(filled, format!("\"a:channel 'b':schema\".schedule() {channel}"));
    }
}
