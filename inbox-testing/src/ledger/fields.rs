//! The fields of a line: text without tabs and line breaks.

use std::str::{FromStr, Split};

use inbox_core::Timestamp;
use inbox_core::message::MessageId;
use inbox_core::store::LeaseToken;

use super::SeenLease;

const NONE: &str = "-";

/// Between until when a lease holds and until when it may.
const RENEWING: char = '/';

/// A field is missing or cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Torn;

pub(super) fn escape(text: &str) -> String {
    text.replace('\\', r"\\").replace('\t', r"\t").replace('\n', r"\n")
}

/// Some text is marked, so that any text differs from none.
pub(super) fn optional(text: Option<&str>) -> String {
    text.map_or(NONE.to_owned(), |text| format!("={}", escape(text)))
}

pub(super) fn token(lease: Option<SeenLease>) -> String {
    lease.map_or(NONE.to_owned(), |lease| lease.token.to_string())
}

pub(super) fn expires_at(lease: Option<SeenLease>) -> String {
    let Some(SeenLease { expires_at, renewing_until, .. }) = lease else { return NONE.to_owned() };
    let renewing = renewing_until.map(|until| format!("{RENEWING}{}", until.as_micros()));
    format!("{}{}", expires_at.as_micros(), renewing.unwrap_or_default())
}

pub(super) struct Fields<'a>(Split<'a, char>);

impl<'a> Fields<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        Self(line.split('\t'))
    }

    pub(super) fn next(&mut self) -> Result<&'a str, Torn> {
        self.0.next().ok_or(Torn)
    }

    pub(super) fn parsed<T: FromStr>(&mut self) -> Result<T, Torn> {
        parse(self.next()?)
    }

    pub(super) fn text(&mut self) -> Result<String, Torn> {
        unescape(self.next()?)
    }

    pub(super) fn optional(&mut self) -> Result<Option<String>, Torn> {
        match self.next()? {
            NONE => Ok(None),
            text => unescape(text.strip_prefix('=').ok_or(Torn)?).map(Some),
        }
    }

    pub(super) fn time(&mut self) -> Result<Timestamp, Torn> {
        self.parsed().map(Timestamp::from_micros)
    }

    pub(super) fn lease(&mut self) -> Result<Option<SeenLease>, Torn> {
        let (token, expires_at) = (self.next()?, self.next()?);
        if (token, expires_at) == (NONE, NONE) {
            return Ok(None);
        }
        // Both are UUIDs, and only the one of a message can be read from text.
        let token = LeaseToken::from_u128(parse::<MessageId>(token)?.as_u128());
        let (expires_at, renewing) = match expires_at.split_once(RENEWING) {
            Some((expires_at, renewing)) => (expires_at, Some(parse(renewing)?)),
            None => (expires_at, None),
        };
        let expires_at = Timestamp::from_micros(parse(expires_at)?);
        let renewing_until = renewing.map(Timestamp::from_micros);
        Ok(Some(SeenLease { token, expires_at, renewing_until }))
    }
}

fn parse<T: FromStr>(text: &str) -> Result<T, Torn> {
    text.parse().map_err(|_| Torn)
}

fn unescape(text: &str) -> Result<String, Torn> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        plain.push(match char {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('\\') => '\\',
                _ => return Err(Torn),
            },
            other => other,
        });
    }
    Ok(plain)
}
