use inbox_core::store::{StoreError, StoreErrorKind};

use crate::schema::{LONGEST, Schema, literal, quoted};

const SCRIPT: &str = include_str!("../roles.sql");

/// What each is for, as the end of its name.
const ROLES: [&str; 4] = ["writer", "bulk_writer", "worker", "operator"];

/// The statements that make the roles of a schema and give them their rights.
pub(crate) fn script(schema: &Schema) -> Result<String, StoreError> {
    let name = |role: &str| format!("{}_{role}", schema.name);
    if ROLES.iter().any(|role| name(role).len() > LONGEST) {
        let message = format!(
            "the name of the schema `{}` is too long for roles that are named after it: at most 51 \
             bytes leave room for `_bulk_writer`",
            schema.name
        );
        return Err(StoreError::new(StoreErrorKind::Schema, message));
    }
    let mut places: Vec<_> =
        ROLES.iter().map(|role| (format!(":{role}"), quoted(&name(role)))).collect();
    let create: String = ROLES.iter().map(|role| create(&name(role))).collect();
    places.push((":create\n".to_owned(), create));
    places.push((":temporary\n".to_owned(), temporary(&name("bulk_writer"))));
    places.push((":schema".to_owned(), schema.quoted.clone()));
    Ok(fill(SCRIPT, &places))
}

/// Makes a role, which belongs to the server and may be there already, or be made by another at the same
/// time.
fn create(name: &str) -> String {
    let make = format!(
        "BEGIN IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = {}) THEN \
         CREATE ROLE {} NOLOGIN; END IF; \
         EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END",
        literal(name),
        quoted(name)
    );
    format!("DO {};\n", literal(&make))
}

/// What has a key is put aside in a temporary table.
fn temporary(name: &str) -> String {
    let grant = format!(
        "BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), {}); END",
        literal(name)
    );
    format!("DO {};\n", literal(&grant))
}

/// In one go: a name may contain what is replaced.
fn fill(text: &str, places: &[(String, String)]) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(':') {
        let (before, here) = rest.split_at(at);
        filled.push_str(before);
        let place = places.iter().find(|(place, _)| here.starts_with(place.as_str()));
        let (written, length) = place.map_or((":", 1), |(place, with)| (with, place.len()));
        filled.push_str(written);
        rest = &here[length..];
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_named_after_the_schema_whatever_that_is_called() {
        let script = script(&Schema::new("a:worker's \"b\"").unwrap()).unwrap();
        let worker = "\"a:worker's \"\"b\"\"_worker\"";
        assert!(
            script.contains(&format!("ON \"a:worker's \"\"b\"\"\".lease TO {worker};")),
            "{script}"
        );
        assert!(!script.contains(":writer") && !script.contains(":schema"), "{script}");
    }

    #[test]
    fn a_name_that_leaves_no_room_is_refused() {
        let schema = |length| Schema::new(&"x".repeat(length)).unwrap();
        script(&schema(51)).unwrap();
        assert!(script(&schema(52)).unwrap_err().to_string().contains("at most 51"));
    }
}
