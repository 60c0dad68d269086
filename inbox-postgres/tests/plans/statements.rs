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
    with_parameters().map(|(name, _, text)| (name, text))
}

/// The same, each with the names of its parameters.
fn with_parameters() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let named = OF_PARTS.split(NAME).filter_map(|one| one.split_once('\n'));
    named.map(|(head, text)| {
        let (name, parameters) = head.trim_end_matches(')').split_once('(').unwrap();
        (name, parameters, text.trim_end().trim_end_matches(';'))
    })
}

/// The text of the statement of this name: made of parts, or a file of its own.
pub(crate) fn text(name: &str) -> String {
    if let Some((_, text)) = of_parts().find(|(of, _)| *of == name) {
        return text.to_owned();
    }
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let text = std::fs::read_to_string(queries.join(format!("{name}.sql"))).unwrap();
    assert!(!text.contains("{{"), "`{name}` is made of parts and not among them");
    text.replace(":schema", "inbox").replace(":position", "'inbox.position'")
}

/// What claims are given by name, for 500 deliveries of two versions. See `src/lease/parameters.rs`.
const CLAIM: [(&str, &str); 23] = [
    ("now", "NULL"),
    ("lease", "gen_random_uuid()"),
    ("host", "'host'"),
    ("handler_key", "'charge'"),
    ("levels", "'{3,2,1,0}'"),
    ("scan_levels", "'{3,2,1,0,3,2,1,0}'"),
    ("scan_versions", "'{1,1,1,1,2,2,2,2}'"),
    ("scan_lows", "'{-1,-1,-1,-1,-1,-1,-1,-1}'"),
    ("lane_lows", "'{-1,-1,-1,-1,-1,-1,-1,-1}'"),
    ("window", "500"),
    ("limit", "500"),
    ("lanes", "500"),
    ("length", "10"),
    ("max_crashes", "10"),
    ("duration", "'1 min'"),
    ("limited", "false"),
    ("blocks", "true"),
    ("fleet", "NULL"),
    ("per_key", "NULL"),
    ("quarantined", "false"),
    ("read_keys", "'{charge,charge}'"),
    ("read_versions", "'{1,2}'"),
    ("tenants", "'{acme,nobody}'"),
];

/// One of the statements of a claim, with these arguments in the place of the usual ones.
pub(crate) fn claiming(name: &str, given: &[(&str, &str)]) -> Asked {
    let (_, parameters, text) = with_parameters().find(|(of, ..)| *of == name).unwrap();
    let value = |name: &str| {
        let of =
            |all: &[(&str, &str)]| all.iter().find(|(of, _)| *of == name).map(|it| it.1.to_owned());
        of(given).or_else(|| of(&CLAIM)).unwrap_or_else(|| panic!("no argument `{name}`"))
    };
    let arguments: Vec<_> = parameters.split(", ").map(value).collect();
    Asked { text: text.to_owned(), arguments: arguments.join(", ") }
}

/// A claim of what has no keys, which is what happens most.
pub(crate) fn claim() -> Asked {
    claiming("claim", &[])
}

/// What wins lanes, for a handler that has some.
pub(crate) fn win() -> Asked {
    claiming("lane_win", &[])
}

/// What moves behind lanes what is met there.
pub(crate) fn behind() -> Asked {
    claiming("lane_behind", &[])
}

/// A claim of a handler that has limits.
pub(crate) fn claim_limited() -> Asked {
    claiming("claim_limited", &[("limited", "true"), ("fleet", "1000"), ("per_key", "1")])
}

impl Asked {
    /// The same for another handler.
    pub(crate) fn of_handler(&self, handler: &str) -> Self {
        let arguments = self.arguments.replace("charge", handler);
        Self { text: self.text.clone(), arguments }
    }
}

/// The names of all statements. Templates are in those that are made of them.
pub(crate) fn names() -> BTreeSet<String> {
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let files = queries.read_dir().unwrap().map(|file| file.unwrap().path());
    let whole = files
        .filter(|file| file.is_file() && !std::fs::read_to_string(file).unwrap().contains("{{"));
    let whole = whole.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    whole.chain(of_parts().map(|(name, _)| name.to_owned())).collect()
}
