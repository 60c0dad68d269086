//! JSON that is right and that a store could not keep all the same.

/// As deep as JSON is read; a handler could not read what is deeper.
const DEEPEST: usize = 127;

/// A database keeps numbers of so many digits, exponents written out.
const LONGEST_NUMBER: usize = 10_000;

/// What keeps JSON from being stored and read again, in words that follow "the payload".
pub(super) fn of(json: &[u8]) -> Option<&'static str> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => match string(&json[at + 1..]) {
                Ok(length) => at += length + 1,
                Err(flaw) => return Some(flaw),
            },
            b'[' | b'{' => {
                depth += 1;
                if depth > DEEPEST {
                    return Some(
                        "nests deeper than 127 levels, which no handler reads: flatten it",
                    );
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let rest = &json[at..];
                let end = rest.iter().position(|byte| !is_of_number(*byte)).unwrap_or(rest.len());
                if digits(&rest[..end]) > LONGEST_NUMBER {
                    return Some(
                        "holds a number of more than 10000 digits, which cannot be stored: write \
                         it as a string",
                    );
                }
                at += end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of a string up to its closing quote, which counts.
fn string(rest: &[u8]) -> Result<usize, &'static str> {
    let mut at = 0;
    while let Some(plain) = rest.get(at..) {
        let Some(end) = plain.iter().position(|byte| matches!(byte, b'"' | b'\\')) else { break };
        at += end;
        match rest[at] {
            b'"' => return Ok(at + 1),
            _ => match escaped(&rest[at + 1..]) {
                Some(0) => {
                    return Err("contains the character U+0000, which cannot be stored: remove it");
                }
                Some(0xD800..=0xDBFF) => match rest.get(at + 6..).and_then(low_half) {
                    Some(()) => at += 12,
                    None => return Err(HALF),
                },
                Some(0xDC00..=0xDFFF) => return Err(HALF),
                Some(_) => at += 6,
                None => at += 2,
            },
        }
    }
    Ok(rest.len())
}

const HALF: &str = "holds half of a character (a lone surrogate), which is no text: write the \
                    character whole";

/// The number in `uXXXX`.
fn escaped(rest: &[u8]) -> Option<u32> {
    let hex = rest.strip_prefix(b"u")?.get(..4)?;
    u32::from_str_radix(str::from_utf8(hex).ok()?, 16).ok()
}

fn low_half(rest: &[u8]) -> Option<()> {
    let low = escaped(rest.strip_prefix(b"\\")?)?;
    (0xDC00..=0xDFFF).contains(&low).then_some(())
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// How many digits a number has when its exponent is written out.
fn digits(number: &[u8]) -> usize {
    let mut parts = number.splitn(2, |byte| matches!(byte, b'e' | b'E'));
    let written = parts.next().unwrap_or_default().len();
    let Some(exponent) = parts.next() else { return written };
    let exponent = str::from_utf8(exponent).unwrap_or_default();
    let exponent = exponent.trim_start_matches(['+', '-']).trim_start_matches('0');
    match exponent.is_empty() {
        true => written,
        false => {
            exponent.parse().map_or(usize::MAX, |exponent: usize| exponent.saturating_add(written))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_keeps_has_no_flaw() {
        let deep = "[".repeat(127) + &"]".repeat(127);
        let long = "9".repeat(10_000);
        for json in [
            "null",
            "-1.5e-308",
            "[1e+308, 0.000, 12]",
            r#"{"a": "\\u0000", "b": "\uD83E\udd80 [[[[", "c\"": {}}"#,
            r#""1e999999 \ud83e\udd80""#,
            &deep,
            &long,
        ] {
            assert_eq!(of(json.as_bytes()), None, "{json}");
        }
    }

    #[test]
    fn what_no_store_keeps_is_told() {
        let deep = "[".repeat(128) + &"]".repeat(128);
        let long = "9".repeat(10_001);
        for (json, expected) in [
            (r#"{"a": ["\u0000"]}"#, "U+0000"),
            (r#""\ud83e""#, "half of a character"),
            (r#""\ud83e\u0041""#, "half of a character"),
            (r#"["x", "\uDD80"]"#, "half of a character"),
            ("[1e10001]", "more than 10000 digits"),
            ("-1E-99999999999999999999999", "more than 10000 digits"),
            (&long, "more than 10000 digits"),
            (&deep, "deeper than 127"),
        ] {
            let flaw = of(json.as_bytes()).unwrap_or_default();
            assert!(flaw.contains(expected), "{json}: {flaw}");
        }
    }

    #[test]
    fn text_that_ends_early_is_walked_to_its_end() {
        for json in ["\"", "\"\\", "\"\\u", "\"\\ud83e", "\"\\ud83e\\", "-", "[{\"a"] {
            let _ = of(json.as_bytes());
        }
    }
}
