use proc_macro2::Span;
use syn::{Ident, Index, LitStr, Member};

use crate::errors::Errors;

/// A key's format string, such as `payment:{payment_id}`.
pub(crate) struct Template {
    pub(crate) literal: LitStr,
    /// The string with every field replaced by its number: `payment:{0}`.
    pub(crate) format: String,
    /// The fields, each as the members between its dots: `{order.id}` is `order`, `id`.
    pub(crate) fields: Vec<Vec<Member>>,
}

impl Template {
    pub(crate) fn parse(literal: Option<LitStr>, errors: &mut Errors) -> Option<Self> {
        let literal = literal?;
        let span = Span::call_site().located_at(literal.span());
        match scan(&literal.value(), span) {
            Ok((format, fields)) => Some(Self { literal, format, fields }),
            Err(message) => {
                errors.over(&literal, message);
                None
            }
        }
    }
}

fn scan(text: &str, span: Span) -> Result<(String, Vec<Vec<Member>>), String> {
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
        fields.push(path(field, span)?);
        rest = after;
    }
    format.push_str(rest);
    Ok((format, fields))
}

/// The members between the dots of `order.id`.
fn path(field: &str, span: Span) -> Result<Vec<Member>, String> {
    if field.is_empty() {
        return Err("`{}` names no field: write `{field}`".to_owned());
    }
    let members: Option<_> = field.split('.').map(|name| member(name, span)).collect();
    members.ok_or_else(|| {
        format!("`{{{field}}}` is not a field: write `{{field}}` or `{{field.inner}}`")
    })
}

fn member(name: &str, span: Span) -> Option<Member> {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        let index = name.parse().ok()?;
        return Some(Member::Unnamed(Index { index, span }));
    }
    // A field may be called `type`: declared as `r#type`, written `{type}` in a key.
    let ident = syn::parse_str::<Ident>(name).or_else(|_| syn::parse_str(&format!("r#{name}")));
    let mut ident: Ident = ident.ok()?;
    ident.set_span(span);
    Some(Member::Named(ident))
}

/// `[[fill]align][sign][#][0][width][.precision]`, and no type: only `Display` writes keys, because
/// its form is the one types promise to keep.
fn check_spec(spec: &str) -> Result<(), String> {
    let aligned = |c: char| matches!(c, '<' | '^' | '>');
    let mut chars = spec.chars();
    let rest = match (chars.next(), chars.next()) {
        (Some(_), Some(second)) if aligned(second) => chars.as_str(),
        (Some(first), _) if aligned(first) => &spec[1..],
        _ => spec,
    };
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let rest = rest.strip_prefix('#').unwrap_or(rest);
    let (width, precision) = rest.split_once('.').unwrap_or((rest, "0"));
    let is_number =
        |text: &str| text.chars().all(|c| c.is_ascii_digit()) && text.parse::<u16>().is_ok();
    if (width.is_empty() || is_number(width)) && is_number(precision) {
        return Ok(());
    }
    Err(format!(
        "`:{spec}` is not possible in a key, which is written with `Display`: leave it out, or \
         keep a width such as `{{field:08}}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> (String, Vec<String>) {
        let (format, fields) = scan(text, Span::call_site()).unwrap();
        let shown = |member: &Member| match member {
            Member::Named(ident) => ident.to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        let join = |path: &Vec<Member>| path.iter().map(shown).collect::<Vec<_>>().join(".");
        (format, fields.iter().map(join).collect())
    }

    #[test]
    fn fields_become_numbers_and_keep_their_width() {
        let (format, fields) = scanned("{{a}}:{tenant}/{order.id:08}/{0}/{type:*^+5.2}");
        assert_eq!(format, "{{a}}:{0}/{1:08}/{2}/{3:*^+5.2}");
        assert_eq!(fields, ["tenant", "order.id", "0", "r#type"]);
    }

    #[test]
    fn what_is_no_field_is_refused() {
        let fields =
            ["{", "}", "{a", "{}", "{a b}", "{a.}", "{self}", "{1st}", "{a._}", "{a.super}"];
        let specs = ["{a:?}", "{a:x}", "{a:1$}", "{a:{}}", "{a:!}", "{a:.}", "{a:.*}", "{a:99999}"];
        for text in fields.into_iter().chain(specs).chain(["{4294967296}"]) {
            assert!(scan(text, Span::call_site()).is_err(), "{text}");
        }
    }
}
