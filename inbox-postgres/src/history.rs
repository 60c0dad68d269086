use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::Transaction;

use crate::PostgresStore;
use crate::client::{Client, begin};
use crate::error::translate;
use crate::migrate::MIGRATIONS;
use crate::row::column;
use crate::schedule::damaged;

impl PostgresStore {
    /// Checks that the schema is there and of this program's version. Changes nothing.
    ///
    /// # Errors
    /// When it is missing, older, newer or was changed by hand; the error says what to do.
    pub async fn validate_schema(&self) -> Result<(), StoreError> {
        self.in_time(async {
            let mut working = self.connection().await?;
            let transaction = begin(working.get()?, self.inner().owner).await?;
            let applied = match self.has_history(&transaction).await? {
                true => self.applied(&transaction).await?,
                false => 0,
            };
            transaction.rollback().await.map_err(translate)?;
            working.done();
            let name = &self.inner().schema.name;
            let message = match applied.checked_sub(1).map(|last| MIGRATIONS[last].version) {
                _ if applied == MIGRATIONS.len() => return Ok(()),
                Some(version) => format!(
                    "the schema `{name}` has version {version}, older than this program's: bring it \
                     up to date with `PostgresOptions::migrate`, or open it with \
                     `PostgresOptions::ensure_schema`"
                ),
                None => format!(
                    "the schema `{name}` is missing: create it with `PostgresOptions::migrate`, or \
                     open it with `PostgresOptions::ensure_schema`"
                ),
            };
            Err(StoreError::new(StoreErrorKind::Schema, message))
        })
        .await
    }

    /// Whether anything was ever applied.
    pub(crate) async fn has_history(&self, on: &Transaction<'_>) -> Result<bool, StoreError> {
        let table = format!("{}.migration", self.inner().schema.quoted);
        let select = "SELECT to_regclass($1) IS NOT NULL";
        let row = Client::Theirs(on).query_one(select, &[&table]).await?;
        column(&row, 0).map_err(damaged)
    }

    /// How many of our migrations were applied: all of those, and in our words, or it is an error.
    pub(crate) async fn applied(&self, on: &Transaction<'_>) -> Result<usize, StoreError> {
        let versions: Vec<_> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        let texts: Vec<_> = MIGRATIONS.iter().map(|migration| migration.sql).collect();
        let schema = &self.inner().schema;
        let select = schema.fill(
            "SELECT applied.version, applied.name, applied.checksum = encode(sha256(convert_to(ours.sql, 'UTF8')), 'hex')
             FROM :schema.migration AS applied
             LEFT JOIN unnest($1::integer[], $2::text[]) AS ours (version, sql) USING (version)
             ORDER BY applied.version",
        );
        let rows = Client::Theirs(on).query(&select, &[&versions, &texts]).await?;
        let read = |row: &tokio_postgres::Row| Applied {
            version: row.get(0),
            name: row.get(1),
            is_ours: row.get(2),
        };
        check(&schema.name, &rows.iter().map(read).collect::<Vec<_>>())?;
        Ok(rows.len())
    }
}

struct Applied {
    version: i32,
    name: String,
    /// None for a version that this program does not know.
    is_ours: Option<bool>,
}

fn check(schema: &str, applied: &[Applied]) -> Result<(), StoreError> {
    let refused = |message: String| Err(StoreError::new(StoreErrorKind::Schema, message));
    let latest = MIGRATIONS.last().map_or(0, |last| last.version);
    // What is newer comes first: its program may have reason for all the rest.
    if let Some(Applied { version, name, .. }) = applied.iter().rfind(|it| it.version > latest) {
        return refused(format!(
            "the schema `{schema}` has version {version} (`{name}`), and this program knows versions \
             up to {latest}: update this program; nothing was changed"
        ));
    }
    for (Applied { version, name, is_ours }, ours) in applied.iter().zip(MIGRATIONS) {
        if *version != ours.version {
            return refused(format!(
                "the schema `{schema}` has version {version} (`{name}`) and lacks version {} \
                 (`{}`): restore its table `migration` from a backup; nothing was changed",
                ours.version, ours.name
            ));
        }
        if *is_ours != Some(true) {
            return refused(format!(
                "version {version} (`{name}`) of the schema `{schema}` was made with another text \
                 than this program's: use the program that made it, or make the schema anew; nothing \
                 was changed"
            ));
        }
    }
    Ok(())
}
