use super::key::Key;

/// Takes what is ours out of `host=… user=… key='a value'`.
pub(super) fn take_ours(text: &str) -> (String, Vec<(Key, String)>) {
    let (mut said, mut others) = (Vec::new(), String::new());
    let mut rest = text;
    // What cannot be read is left for the driver to complain about.
    while let Some((key, value, after)) = parameter(rest) {
        match Key::from_word(key) {
            Some(key) => said.push((key, value)),
            None => others.push_str(&rest[..rest.len() - after.len()]),
        }
        rest = after;
    }
    others.push_str(rest);
    (others, said)
}

/// The first parameter's key and value, and what comes after it.
fn parameter(text: &str) -> Option<(&str, String, &str)> {
    let (key, text) = text.split_once('=')?;
    let text = text.trim_start();
    let (value, after) = match text.strip_prefix('\'') {
        Some(quoted) => {
            let (value, after) = value(quoted, |c| c == '\'');
            (value, after.strip_prefix('\'')?)
        }
        None => value(text, char::is_whitespace),
    };
    Some((key.trim(), value, after))
}

/// The characters up to the one that ends them; a backslash takes the next one as it is.
fn value(text: &str, ends: impl Fn(char) -> bool) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            character if ends(character) => return (value, &text[at..]),
            character => value.push(character),
        }
    }
    (value, "")
}
