use std::fmt::Write as _;
use std::path::Path;

use super::*;

/// What the parts make, to be read and compared: a change of a part is a diff of every statement it is in.
const CHECKED_IN: &str = "statements.sql";

#[test]
fn every_statement_is_made_and_reads_as_it_is_checked_in() {
    let statements = Statements::of("inbox").unwrap();
    assert_eq!(statements.0.len(), whole().len() + composed().len(), "each is made once");
    let mut texts = String::new();
    for (sql, _) in composed() {
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
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let texts: Vec<_> = whole().iter().chain(&composed()).map(|(_, it)| it.text).collect();
    for file in files.read_dir().unwrap().map(|file| file.unwrap().path()) {
        if file.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(texts.contains(&&*text), "nobody uses {}", file.display());
    }
}
