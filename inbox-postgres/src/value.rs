use std::error::Error;
use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::message::Payload;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type Refusal = Box<dyn Error + Sync + Send>;

/// Microseconds between 1970, where ours begin, and 2000, where PostgreSQL's do.
const EPOCH: i64 = 946_684_800_000_000;

/// The first moment of PostgreSQL's calendar, in its own microseconds. What is earlier is its
/// `-infinity`.
const FIRST: i64 = -211_813_488_000_000_000;

/// A `timestamptz`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl ToSql for Moment {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Refusal> {
        let micros = self.0.as_micros().saturating_sub(EPOCH);
        let micros = if micros < FIRST { i64::MIN } else { micros };
        out.extend_from_slice(&micros.to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Refusal> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(Timestamp::from_micros(micros.saturating_add(EPOCH))))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

/// An `interval`. No calendar holds the longest durations; 200,000 years are as good.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span(pub(crate) Duration);

impl Span {
    /// Beyond it there are no moments that the server knows.
    const LONGEST: Duration = Duration::from_hours(200_000 * 365 * 24);

    /// What the server makes of a moment plus this.
    pub(crate) fn after(&self, moment: Timestamp) -> Timestamp {
        moment + self.0.min(Self::LONGEST)
    }
}

impl ToSql for Span {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Refusal> {
        let micros = i64::try_from(self.0.min(Self::LONGEST).as_micros())?;
        out.extend_from_slice(&micros.to_be_bytes());
        // No days and no months, whose length would depend on the calendar.
        out.extend_from_slice(&[0; 8]);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::INTERVAL
    }

    to_sql_checked!();
}

/// A `jsonb`, as text.
#[derive(Debug, Clone)]
pub(crate) struct Json(pub(crate) Vec<u8>);

/// The same, borrowed: a payload is copied into what is sent, and nowhere else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonText<'a>(&'a [u8]);

impl<'a> From<&'a Payload> for JsonText<'a> {
    fn from(payload: &'a Payload) -> Self {
        Self(payload.as_bytes())
    }
}

impl ToSql for JsonText<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Refusal> {
        // The version of the format.
        out.extend_from_slice(&[1]);
        out.extend_from_slice(self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }

    to_sql_checked!();
}

impl ToSql for Json {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Refusal> {
        JsonText(&self.0).to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        JsonText::accepts(ty)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Json {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Refusal> {
        match raw.split_first() {
            Some((1, text)) => Ok(Self(text.to_vec())),
            _ => Err("the server speaks another version of jsonb".into()),
        }
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }
}
