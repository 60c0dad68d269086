//! The statements as the store sends them, and arguments for them.

use std::collections::BTreeSet;
use std::path::Path;

/// Those that are made of parts, each under a line with its name.
const OF_PARTS: &str = include_str!("../../statements.sql");

/// What comes before the name of one.
const NAME: &str = "-- statement: ";

/// A statement, and its arguments as one writes them in `EXECUTE`.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) text: String,
    pub(crate) arguments: String,
}

/// The statement of this name with these arguments.
pub(crate) fn asked(name: &str, arguments: &str) -> Asked {
    Asked { text: text(name), arguments: arguments.to_owned() }
}

/// The names and the texts of the statements that are made of parts.
pub(crate) fn of_parts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let named = OF_PARTS.split(NAME).filter_map(|one| one.split_once('\n'));
    named.map(|(name, text)| (name, text.trim_end().trim_end_matches(';')))
}

/// The text of the statement of this name: made of parts, or a file of its own.
pub(crate) fn text(name: &str) -> String {
    if let Some((_, text)) = of_parts().find(|(of, _)| *of == name) {
        return text.to_owned();
    }
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let text = std::fs::read_to_string(queries.join(format!("{name}.sql"))).unwrap();
    assert!(!text.contains("{{"), "`{name}` is made of parts and not among them");
    text.replace(":schema", "inbox")
}

/// What every claim is given, for 500 deliveries of two versions. See `src/sql/composed.rs`.
const CLAIM: &str = "NULL, gen_random_uuid(), 'host', 'charge', '{3,2,1,0}', '{3,2,1,0,3,2,1,0}',
                     '{1,1,1,1,2,2,2,2}', '{-1,-1,-1,-1,-1,-1,-1,-1}', 500, 10, '1 min', false, false";

/// A claim of what has no keys, which is what happens most.
pub(crate) fn claim() -> Asked {
    asked("claim", CLAIM)
}

/// A claim of what may have keys.
pub(crate) fn claim_shared() -> Asked {
    asked("claim_shared", &format!("{CLAIM}, 500"))
}

/// A claim of a handler that has limits.
pub(crate) fn claim_limited() -> Asked {
    let limited = CLAIM.replace("false, false", "true, false");
    asked("claim_limited", &format!("{limited}, 500, 1000, 1"))
}

impl Asked {
    /// The same for these tenants alone, by the claim of that name.
    pub(crate) fn of_tenants(&self, name: &str, tenants: &str) -> Self {
        asked(name, &format!("{}, '{tenants}'", self.arguments))
    }

    /// The same for another handler.
    pub(crate) fn of_handler(&self, handler: &str) -> Self {
        let arguments = self.arguments.replace("charge", handler);
        Self { text: self.text.clone(), arguments }
    }
}

/// The names of all statements. Settings are none, and templates are in those that are made of them.
pub(crate) fn names() -> BTreeSet<String> {
    let settings = ["session", "look", "unit_theirs"];
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let files = queries.read_dir().unwrap().map(|file| file.unwrap().path());
    let whole = files
        .filter(|file| file.is_file() && !std::fs::read_to_string(file).unwrap().contains("{{"));
    let whole = whole.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    let whole = whole.filter(|name| !settings.contains(&&**name));
    whole.chain(of_parts().map(|(name, _)| name.to_owned())).collect()
}
