use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use crate::value::{Json, JsonText, Moment, Span};

/// What a statement is given. A value knows its type in SQL, so a statement can be sent without asking the
/// server first what it takes: behind a pooler, nobody would remember the answer.
pub(crate) trait Parameter: ToSql + Sync {
    fn kind(&self) -> Type;
}

pub(crate) type Parameters<'a> = &'a [&'a dyn Parameter];

impl<T: Typed + ToSql + Sync> Parameter for T {
    fn kind(&self) -> Type {
        T::KIND
    }
}

/// The one type in SQL that values of this type are written as, and that of many of them.
pub(crate) trait Typed {
    const KIND: Type;
    const MANY: Type;
}

macro_rules! typed {
    ($($rust:ty: $kind:ident, $many:ident;)*) => {
        $(impl Typed for $rust {
            const KIND: Type = Type::$kind;
            const MANY: Type = Type::$many;
        })*
    };
}

typed! {
    bool: BOOL, BOOL_ARRAY;
    i16: INT2, INT2_ARRAY;
    i32: INT4, INT4_ARRAY;
    i64: INT8, INT8_ARRAY;
    str: TEXT, TEXT_ARRAY;
    String: TEXT, TEXT_ARRAY;
    Uuid: UUID, UUID_ARRAY;
    Json: JSONB, JSONB_ARRAY;
    JsonText<'_>: JSONB, JSONB_ARRAY;
    Moment: TIMESTAMPTZ, TIMESTAMPTZ_ARRAY;
    Span: INTERVAL, INTERVAL_ARRAY;
}

impl<T: Typed> Typed for Option<T> {
    const KIND: Type = T::KIND;
    const MANY: Type = T::MANY;
}

impl<T: Typed + ?Sized> Typed for &T {
    const KIND: Type = T::KIND;
    const MANY: Type = T::MANY;
}

impl<T: Typed> Typed for Vec<T> {
    const KIND: Type = T::MANY;
    const MANY: Type = T::MANY;
}

impl<T: Typed> Typed for [T] {
    const KIND: Type = T::MANY;
    const MANY: Type = T::MANY;
}

/// As the driver takes them for a statement whose types it knows.
pub(crate) fn values(
    parameters: Parameters<'_>,
) -> impl ExactSizeIterator<Item = &(dyn ToSql + Sync)> {
    parameters.iter().map(|parameter| *parameter as &(dyn ToSql + Sync))
}

/// As it takes them for one that it has never seen.
pub(crate) fn typed_values<'a>(
    parameters: Parameters<'a>,
) -> impl ExactSizeIterator<Item = (&'a (dyn ToSql + Sync), Type)> {
    let with_type = |parameter: &&'a dyn Parameter| {
        let value = *parameter as &(dyn ToSql + Sync);
        (value, parameter.kind())
    };
    parameters.iter().map(with_type)
}
