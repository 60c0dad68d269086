use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Payload;

impl Payload {
    /// Whether two payloads are the same JSON, whatever their spaces and the order of their members.
    /// Numbers are compared by all their digits: an amount must not pass for another.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let raw = |payload: &Self| payload.decode::<Box<RawValue>>().ok();
        match (raw(self), raw(other)) {
            (Some(left), Some(right)) => same(&left, &right, DEEPEST),
            _ => self == other,
        }
    }
}

/// Deeper values are compared as they are spelled, as no reader of JSON would read them.
const DEEPEST: u32 = 128;

fn same(left: &RawValue, right: &RawValue, depth: u32) -> bool {
    let (left, right) = (left.get(), right.get());
    let Some(depth) = depth.checked_sub(1) else { return left == right };
    match (left.as_bytes().first(), right.as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => both(left, right, |left: Members<'_>, right: Members<'_>| {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(&right)
                    .all(|(left, right)| left.0 == right.0 && same(left.1, right.1, depth))
        }),
        (Some(b'['), Some(b'[')) => both(left, right, |left: Vec<&RawValue>, right: Vec<_>| {
            left.len() == right.len()
                && left.iter().zip(&right).all(|(left, right)| same(left, right, depth))
        }),
        (Some(b'"'), Some(b'"')) => both(left, right, |left: String, right: String| left == right),
        (Some(b'-' | b'0'..=b'9'), Some(b'-' | b'0'..=b'9')) => digits(left) == digits(right),
        // `true`, `false` and `null` are spelled in one way.
        _ => left == right,
    }
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

fn both<'a, T: serde::Deserialize<'a>>(
    left: &'a str,
    right: &'a str,
    same: impl FnOnce(T, T) -> bool,
) -> bool {
    match (serde_json::from_str(left), serde_json::from_str(right)) {
        (Ok(left), Ok(right)) => same(left, right),
        _ => left == right,
    }
}

/// A number as its sign, its digits without the zeros around them, and the power of ten of the last
/// digit: `-1.50` and `-15e-1` are one number.
fn digits(number: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_negative = whole.starts_with('-');
    let all = format!("{}{fraction}", whole.trim_start_matches('-'));
    let without_end = all.trim_end_matches('0');
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX);
    let places = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let dropped = i64::try_from(all.len() - without_end.len()).unwrap_or(i64::MAX);
    let digits = without_end.trim_start_matches('0');
    match digits.is_empty() {
        // Zero has no sign and no power.
        true => (false, String::new(), 0),
        false => {
            let power = exponent.saturating_sub(places).saturating_add(dropped);
            (is_negative, digits.to_owned(), power)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(left: &str, right: &str) -> bool {
        let payload = |text: &str| Payload::from_bytes(text.as_bytes().to_vec());
        payload(left).says_the_same_as(&payload(right))
    }

    #[test]
    fn spaces_order_and_spelling_do_not_matter() {
        assert!(same(
            r#"{"a":1,"b":[true,null,"\u00e9"]}"#,
            r#" {"b": [true, null, "é"], "a": 1} "#
        ));
        for (left, right) in [("100", "1e2"), ("1.50", "15e-1"), ("-0", "0.0"), ("0.1", "1E-1")] {
            assert!(same(left, right), "{left} and {right}");
        }
    }

    #[test]
    fn every_digit_every_member_and_every_type_matters() {
        for (left, right) in [
            ("20000000000000000001", "20000000000000000999"),
            ("0.1000000000000000055", "0.1"),
            ("-1", "1"),
            ("10", "1"),
            ("1", "\"1\""),
            ("[1,2]", "[2,1]"),
            ("[1]", "[1,1]"),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#),
            (r#"{"a":1}"#, r#"{"b":1}"#),
            ("{}", "[]"),
            ("null", "false"),
        ] {
            assert!(!same(left, right), "{left} and {right}");
        }
        assert!(!same("{", "}") && same("{", "{"));
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(!same(&deep("1"), &deep("2")) && same(&deep("1"), &deep("1")));
    }
}
