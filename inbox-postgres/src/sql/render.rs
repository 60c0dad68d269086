use std::collections::BTreeSet;

/// A statement that is made of parts. `{{name}}` is the place of a part, in the text or in another part;
/// `$name` is a parameter, whose number is its place in the list.
pub(super) struct Template {
    pub(super) text: &'static str,
    pub(super) parts: Vec<(&'static str, &'static str)>,
    pub(super) parameters: Vec<&'static str>,
}

/// Fills in the parts and the numbers of the parameters.
///
/// # Errors
/// When a part or a parameter is missing or is not used: a limit would silently not be one.
pub(super) fn render(template: &Template) -> Result<String, String> {
    numbered(&filled(template)?, &template.parameters)
}

/// The names of the parameters that a statement and its parts have.
pub(super) fn named(template: &Template) -> BTreeSet<String> {
    let text = filled(template).unwrap_or_default();
    text.split('$').skip(1).map(|piece| name(piece).0.to_owned()).collect()
}

fn filled(Template { text, parts, .. }: &Template) -> Result<String, String> {
    let (mut text, mut used) = ((*text).to_owned(), BTreeSet::new());
    while let Some(begin) = text.find("{{") {
        let end = text[begin..].find("}}").ok_or("`{{` has no `}}`")? + begin;
        let name = text[begin + 2..end].to_owned();
        let part = parts.iter().find(|(of, _)| *of == name);
        let (_, part) = part.ok_or_else(|| format!("there is no part `{name}`"))?;
        text.replace_range(begin..end + 2, part.trim_end());
        used.insert(name);
    }
    if let Some((name, _)) = parts.iter().find(|(name, _)| !used.contains(*name)) {
        return Err(format!("part `{name}` is not used"));
    }
    Ok(text)
}

/// The name that a text begins with, and the rest.
fn name(piece: &str) -> (&str, &str) {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    piece.split_at(piece.find(|letter: char| !is_name(letter)).unwrap_or(piece.len()))
}

fn numbered(text: &str, parameters: &[&str]) -> Result<String, String> {
    let (mut numbered, mut used) = (String::with_capacity(text.len()), BTreeSet::new());
    let mut pieces = text.split('$');
    numbered.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, rest) = name(piece);
        numbered.push('$');
        if !name.is_empty() {
            let at = parameters.iter().position(|parameter| *parameter == name);
            let at = at.ok_or_else(|| format!("there is no parameter `{name}`"))?;
            numbered.push_str(&(at + 1).to_string());
            used.insert(name);
        }
        numbered.push_str(rest);
    }
    match parameters.iter().find(|parameter| !used.contains(*parameter)) {
        Some(parameter) => Err(format!("parameter `{parameter}` is not used")),
        None => Ok(numbered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(
        text: &'static str,
        parts: &[(&'static str, &'static str)],
        parameters: &[&'static str],
    ) -> Result<String, String> {
        render(&Template { text, parts: parts.to_vec(), parameters: parameters.to_vec() })
    }

    #[test]
    fn parts_and_parameters_are_filled_in() {
        let parts = [("where", "WHERE a = $key {{more}}\n"), ("more", "AND b = $low")];
        let text = rendered("SELECT $low {{where}};", &parts, &["key", "low"]);
        assert_eq!(text.as_deref(), Ok("SELECT $2 WHERE a = $1 AND b = $2;"));
        assert_eq!(rendered("SELECT $1", &[], &[]).as_deref(), Ok("SELECT $1"));
    }

    #[test]
    fn what_is_missing_or_not_used_is_an_error() {
        for (text, part, parameters, expected) in [
            ("SELECT {{x}}", "y", &[][..], "there is no part `x`"),
            ("SELECT 1", "y", &[], "part `y` is not used"),
            ("SELECT {{y", "y", &[], "`{{` has no `}}`"),
            ("SELECT {{y}} $a", "y", &[], "there is no parameter `a`"),
            ("SELECT {{y}} $a", "y", &["a", "b"], "parameter `b` is not used"),
        ] {
            let error = rendered(text, &[(part, "")], parameters);
            assert_eq!(error, Err(expected.to_owned()), "of {text}");
        }
    }
}
