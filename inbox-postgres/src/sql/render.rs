use std::collections::BTreeSet;

use super::parts::PARTS;

/// A text by its name.
pub(super) type Part = (&'static str, &'static str);

/// A statement that is made of parts. `{{name}}` is the place of a part, in the text or in another part: one of
/// its own, or else one that all statements share. `$name` is a parameter.
pub(super) struct Template {
    pub(super) text: &'static str,
    pub(super) parts: Vec<Part>,
}

/// A statement as it is sent.
#[derive(Debug, PartialEq)]
pub(super) struct Rendered {
    pub(super) text: String,
    /// The names of its parameters in the order of their numbers, where they have names.
    pub(super) parameters: Vec<&'static str>,
}

/// Fills in the parts and the numbers of the parameters, of which `known` are the names.
///
/// # Errors
/// When a part or a parameter is not known, or a part of its own is not used: a limit would silently not be one.
pub(super) fn render(
    template: &Template,
    known: &'static [&'static str],
) -> Result<Rendered, String> {
    numbered(&filled(template)?, known)
}

fn filled(Template { text, parts, .. }: &Template) -> Result<String, String> {
    let (mut text, mut used) = ((*text).to_owned(), BTreeSet::new());
    while let Some(begin) = text.find("{{") {
        let end = text[begin..].find("}}").ok_or("`{{` has no `}}`")? + begin;
        let name = text[begin + 2..end].to_owned();
        let part = parts.iter().chain(PARTS).find(|(of, _)| *of == name);
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

/// Numbers the parameters that have names, in the order of `known`.
fn numbered(text: &str, known: &'static [&'static str]) -> Result<Rendered, String> {
    let named: BTreeSet<_> = text.split('$').skip(1).map(|piece| name(piece).0).collect();
    let is_known = |named: &&&str| named.is_empty() || known.contains(named);
    if let Some(unknown) = named.iter().find(|named| !is_known(named)) {
        return Err(format!("there is no parameter `{unknown}`"));
    }
    let parameters: Vec<_> = known.iter().copied().filter(|name| named.contains(name)).collect();
    let mut pieces = text.split('$');
    let mut numbered = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = name(piece);
        numbered.push('$');
        if let Some(at) = parameters.iter().position(|parameter| *parameter == name) {
            numbered.push_str(&(at + 1).to_string());
        }
        numbered.push_str(rest);
    }
    Ok(Rendered { text: numbered, parameters })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &'static str, parts: &[Part]) -> Result<(String, Vec<&'static str>), String> {
        let template = Template { text, parts: parts.to_vec() };
        render(&template, &["key", "low", "high"]).map(|made| (made.text, made.parameters))
    }

    #[test]
    fn parts_and_parameters_are_filled_in() {
        let parts = [("where", "WHERE a = $key {{more}}\n"), ("more", "AND b = $low")];
        let made = rendered("SELECT $low {{where}};", &parts).unwrap();
        assert_eq!(made, ("SELECT $2 WHERE a = $1 AND b = $2;".to_owned(), vec!["key", "low"]));
        assert_eq!(rendered("SELECT $1", &[]), Ok(("SELECT $1".to_owned(), Vec::new())));
    }

    #[test]
    fn a_part_of_its_own_stands_for_the_one_that_is_shared() {
        assert_eq!(rendered("{{first}}", &[("first", "1")]).unwrap().0, "1");
        let shared = rendered("{{lane_of}}", &[]).unwrap().0;
        assert!(shared.contains("ordering_key"), "{shared}");
    }

    #[test]
    fn what_is_missing_or_not_used_is_an_error() {
        for (text, part, expected) in [
            ("SELECT {{x}}", "x_", "there is no part `x`"),
            ("SELECT 1", "y", "part `y` is not used"),
            ("SELECT {{y", "y", "`{{` has no `}}`"),
            ("SELECT {{y}} $a", "y", "there is no parameter `a`"),
        ] {
            let error = rendered(text, &[(part, "")]);
            assert_eq!(error, Err(expected.to_owned()), "of {text}");
        }
    }
}
