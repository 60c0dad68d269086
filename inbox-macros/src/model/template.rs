use syn::LitStr;

use crate::errors::Errors;

/// A key's format string, such as `payment:{payment_id}`.
pub(crate) struct Template {
    pub(crate) literal: LitStr,
    /// The string with every field replaced by its number: `payment:{0}`.
    pub(crate) format: String,
    /// The fields, each as the names between its dots: `{order.id}` is `order`, `id`.
    pub(crate) fields: Vec<Vec<String>>,
}

impl Template {
    pub(crate) fn parse(literal: Option<LitStr>, errors: &mut Errors) -> Option<Self> {
        let literal = literal?;
        match scan(&literal.value()) {
            Ok((format, fields)) => Some(Self { literal, format, fields }),
            Err(message) => {
                errors.over(&literal, message);
                None
            }
        }
    }
}

fn scan(text: &str) -> Result<(String, Vec<Vec<String>>), String> {
    let (mut format, mut fields) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        format.push_str(before);
        if brace.starts_with("{{") || brace.starts_with("}}") {
            format.push_str(&brace[..2]);
            rest = &brace[2..];
            continue;
        }
        let inside = brace.strip_prefix('{').and_then(|open| open.split_once('}'));
        let Some((inside, after)) = inside else {
            return Err("a brace is not closed: write `{field}`, or `{{` for the character".into());
        };
        let (field, spec) = inside.split_once(':').unwrap_or((inside, ""));
        check_spec(spec)?;
        let colon = if spec.is_empty() { "" } else { ":" };
        format.push_str(&["{", &fields.len().to_string(), colon, spec, "}"].concat());
        fields.push(path(field)?);
        rest = after;
    }
    format.push_str(rest);
    Ok((format, fields))
}

/// The names between the dots of `order.id`.
fn path(field: &str) -> Result<Vec<String>, String> {
    let names: Vec<_> = field.split('.').map(str::to_owned).collect();
    let is_name =
        |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if field.is_empty() {
        Err("`{}` names no field: write `{field}`".to_owned())
    } else if names.iter().all(is_name) {
        Ok(names)
    } else {
        Err(format!("`{{{field}}}` is not a field: write `{{field}}` or `{{field.inner}}`"))
    }
}

/// Only `Display` writes keys, because its form is the one types promise to keep.
fn check_spec(spec: &str) -> Result<(), String> {
    let typed = spec.ends_with(|c: char| c == '?' || c.is_alphabetic());
    if typed || spec.contains(['$', '*', '{']) {
        return Err(format!(
            "`:{spec}` is not possible in a key, which is written with `Display`: leave it out, \
             or keep a width such as `{{field:08}}`"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> (String, Vec<String>) {
        let (format, fields) = scan(text).unwrap();
        (format, fields.iter().map(|names| names.join(".")).collect())
    }

    #[test]
    fn fields_become_numbers_and_keep_their_width() {
        let (format, fields) = scanned("{{a}}:{tenant}/{order.id:08}/{0}");
        assert_eq!(format, "{{a}}:{0}/{1:08}/{2}");
        assert_eq!(fields, ["tenant", "order.id", "0"]);
    }

    #[test]
    fn what_is_no_field_is_refused() {
        for text in ["{", "}", "{a", "{}", "{a b}", "{a.}", "{a:?}", "{a:x}", "{a:1$}", "{a:{}}"] {
            assert!(scan(text).is_err(), "{text}");
        }
    }
}
