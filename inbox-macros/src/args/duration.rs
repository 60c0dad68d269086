use std::time::Duration;

/// The longest duration an attribute takes: longer ones are slips of the finger.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Reads `30s`, `250ms`, `1m30s`, `12h` or `7d`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let (amount, tail) = leading(rest, |c| c.is_ascii_digit());
        let (unit, tail) = leading(tail, |c| c.is_ascii_alphabetic());
        let amount: u64 = amount.parse().map_err(|_| unreadable(text))?;
        let unit = unit_of(unit).ok_or_else(|| unreadable(text))?;
        let millis = amount.saturating_mul(unit);
        total = total.saturating_add(Duration::from_millis(millis));
        rest = tail;
    }
    match total {
        Duration::ZERO if text.is_empty() => Err(unreadable(text)),
        Duration::ZERO => Err(format!("`{text}` is no time at all: write at least `1ms`")),
        total if total > LONGEST => Err(format!("`{text}` is longer than a year")),
        total => Ok(total),
    }
}

/// The milliseconds of a unit.
pub(super) fn unit_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        _ => return None,
    })
}

fn leading(text: &str, wanted: fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !wanted(c)).unwrap_or(text.len()))
}

fn unreadable(text: &str) -> String {
    format!("`{text}` is not a duration: write a number and a unit (ms, s, m, h, d), like `1m30s`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_add_up() {
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("7d"), Ok(Duration::from_hours(7 * 24)));
    }

    #[test]
    fn anything_else_is_refused_without_overflow() {
        for text in ["", "30", "s", "-1s", "1.5s", "30 s", "5min", "é", "99999999999999999999s"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("0s").unwrap_err().contains("no time at all"));
        assert!(parse("18446744073709551615d").unwrap_err().contains("longer than a year"));
    }
}
