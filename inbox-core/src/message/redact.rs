use serde_json::error::Category;

/// Openings of serde's own messages, and what is said where the rest must go.
const KNOWN: &[(&str, &str)] = &[
    ("invalid type: ", "a value of the wrong type"),
    ("invalid value: ", "a value out of range"),
    ("invalid length ", "a list of the wrong length"),
    ("unknown variant ", "an unknown variant"),
    ("unknown field ", "an unknown field"),
    ("missing field ", "a missing field"),
    ("duplicate field ", "a duplicate field"),
];

/// Words of those messages, which say nothing about a value.
const TEMPLATE: &[&str] = &[
    "array",
    "boolean",
    "byte",
    "character",
    "column",
    "duplicate",
    "element",
    "elements",
    "enum",
    "expected",
    "field",
    "fields",
    "floating",
    "integer",
    "invalid",
    "length",
    "line",
    "map",
    "missing",
    "null",
    "one",
    "option",
    "point",
    "sequence",
    "string",
    "struct",
    "tuple",
    "type",
    "unit",
    "unknown",
    "value",
    "variant",
    "with",
];

/// What a JSON reader objected to, without the value it met.
///
/// `serde` quotes the offending value (`invalid type: string "4111…", expected u64`), and a type's
/// own errors say what they like. The reason is stored beside the delivery and logged, where a
/// payload's content has no place. So only messages of a known form are kept, without what they
/// quote; and of those only the ones that share no word with the payload.
pub(super) fn reason(error: &serde_json::Error, payload: &[u8]) -> String {
    let text = error.to_string();
    if error.classify() != Category::Data {
        // Broken JSON: the reader names its position and what it wanted.
        return text;
    }
    let known = KNOWN.iter().find(|(opening, _)| text.starts_with(opening));
    let Some((opening, summary)) = known else { return at("the type refused the value", error) };
    match unquoted(opening, &text[opening.len()..]) {
        Some(kept) if !shares_a_word(&kept, payload) => kept,
        _ => at(summary, error),
    }
}

/// The message without the value it quotes.
fn unquoted(opening: &str, found: &str) -> Option<String> {
    if ["missing field ", "duplicate field ", "invalid length "].contains(&opening) {
        return Some(format!("{opening}{found}"));
    }
    // The last one: the value itself may contain these words.
    let expected = found.rfind(", expected ")?;
    let kind = found[..expected].split(['"', '`']).next().unwrap_or_default();
    Some(format!("{}{}", format!("{opening}{kind}").trim_end(), &found[expected..]))
}

fn shares_a_word(kept: &str, payload: &[u8]) -> bool {
    let payload = String::from_utf8_lossy(payload).to_lowercase();
    let kept = kept.to_lowercase();
    let words = kept.split(|c: char| !c.is_alphanumeric());
    let telling = words.filter(|word| word.len() > 2 && !TEMPLATE.contains(word));
    telling.into_iter().any(|word| payload.contains(word))
}

fn at(what: &str, error: &serde_json::Error) -> String {
    match error.line() {
        // The reader was done when the type refused what it had read.
        0 => what.to_owned(),
        line => format!("{what} at line {line} column {}", error.column()),
    }
}

#[cfg(test)]
mod tests;
