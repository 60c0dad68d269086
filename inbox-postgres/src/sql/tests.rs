use std::fmt::Write as _;
use std::path::Path;

use super::parts::PARTS;
use super::*;

/// What the parts make, to be read and compared: a change of a part is a diff of every statement it is in.
const CHECKED_IN: &str = "statements.sql";

#[test]
fn every_statement_is_made_and_reads_as_it_is_checked_in() {
    let statements = Statements::of("inbox").unwrap();
    assert_eq!(statements.0.len(), files().len() + variants().len(), "each is made once");
    let mut texts = String::new();
    let has_parts = |template: &Template| template.text.contains("{{");
    for (sql, _) in files().into_iter().chain(variants()).filter(|(_, it)| has_parts(it)) {
        let text = statements.text(sql);
        let parameters = statements.parameters(sql).join(", ");
        writeln!(texts, "-- statement: {sql:?}({parameters})\n{};\n", text.trim_end()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CHECKED_IN);
    if std::env::var_os("INBOX_REWRITE_STATEMENTS").is_some() {
        std::fs::write(&path, &texts).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == texts,
        "{CHECKED_IN} is not what the parts make: look at the difference after \
         `INBOX_REWRITE_STATEMENTS=1 cargo test -p inbox-postgres --lib sql`"
    );
}

#[test]
fn every_file_is_a_statement_or_a_part_of_one() {
    let templates: Vec<_> = files().into_iter().chain(variants()).map(|(_, it)| it).collect();
    let parts = templates.iter().flat_map(|it| it.parts.iter().chain(PARTS)).map(|(_, text)| *text);
    let mut texts: Vec<_> = templates.iter().map(|it| it.text).collect();
    texts.extend(parts);
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let files = [queries.clone(), queries.join("parts")].map(|folder| folder.read_dir().unwrap());
    for file in files.into_iter().flatten().map(|file| file.unwrap().path()) {
        if file.is_file() {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(texts.contains(&&*text), "nobody uses {}", file.display());
        }
    }
}

#[test]
fn every_part_is_in_a_statement_and_every_parameter_of_a_claim_too() {
    let templates: Vec<_> = files().into_iter().chain(variants()).map(|(_, it)| it).collect();
    let texts = templates.iter().map(|it| it.text).chain(PARTS.iter().map(|(_, text)| *text));
    let texts: Vec<_> = texts.collect();
    for (name, _) in PARTS {
        let place = format!("{{{{{name}}}}}");
        assert!(texts.iter().any(|text| text.contains(&place)), "nobody uses `{name}`");
    }
    let statements = Statements::of("inbox").unwrap();
    let used: Vec<_> = statements.0.values().flat_map(|it| it.parameters.clone()).collect();
    for name in ClaimParameters::NAMES {
        assert!(used.contains(name), "no claim has a parameter `{name}`");
    }
}
