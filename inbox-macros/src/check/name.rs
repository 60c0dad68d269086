use syn::LitStr;

use crate::errors::Errors;
use crate::words::Word;

/// Names and keys are stored in columns of this width.
const LONGEST: usize = 200;

/// What contract names, handler keys and contexts may look like.
///
/// The alphabet is what a log, a URL, a shell and a linker script all carry unquoted: these names
/// meet all four.
pub(super) fn name(literal: &LitStr, what: &str, word: Word, errors: &mut Errors) {
    if let Some(refusal) = refusal(&literal.value(), what) {
        errors.over(literal, format!("{refusal}, as in `{}`", word.example));
    }
}

fn refusal(text: &str, what: &str) -> Option<String> {
    let length = text.chars().count();
    if text.is_empty() {
        return Some(format!("the {what} is empty: write one"));
    }
    if length > LONGEST {
        return Some(format!("the {what} has {length} characters: at most {LONGEST} are stored"));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if let Some(bad) = text.chars().find(|c| !allowed(*c)) {
        return Some(format!(
            "the {what} contains {bad:?}: use ASCII letters, digits, `.`, `-` and `_`"
        ));
    }
    let inner = |c: char| !c.is_ascii_alphanumeric();
    if text.starts_with(inner) || text.ends_with(inner) {
        return Some(format!("the {what} must start and end with a letter or a digit"));
    }
    if text.chars().zip(text.chars().skip(1)).any(|(left, right)| inner(left) && inner(right)) {
        return Some(format!("the {what} has two separators in a row: keep one"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_pass_up_to_the_longest() {
        for text in ["a", "charge-card", "payments.process_payment", "V2", &"x".repeat(LONGEST)] {
            assert_eq!(refusal(text, "key"), None, "{text}");
        }
    }

    #[test]
    fn all_else_is_refused() {
        for text in [
            "",
            " a",
            "a b",
            "-a",
            "a.",
            "a/b",
            "a:b",
            "a--b",
            "a._b",
            "größe",
            &"x".repeat(LONGEST + 1),
        ] {
            assert!(refusal(text, "key").is_some(), "{text}");
        }
    }
}
