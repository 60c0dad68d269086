use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::Transaction;

use crate::PostgresStore;
use crate::error::translate;

/// One step of the schema. Once released, its text never changes.
struct Migration {
    version: i32,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "spine", sql: include_str!("../migrations/0001_spine.sql") },
    Migration {
        version: 2,
        name: "schedule",
        sql: include_str!("../migrations/0002_schedule.sql"),
    },
];

const HISTORY: &str = "
CREATE SCHEMA IF NOT EXISTS :schema;
CREATE TABLE IF NOT EXISTS :schema.migration (
    version    integer     NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)";

impl PostgresStore {
    /// Creates the schema, or brings it to this program's version. Of many that try at once, one does
    /// it and the others find it done.
    ///
    /// # Errors
    /// When the schema is newer than this program, was changed by hand, or the database refuses.
    pub async fn ensure_schema(&self) -> Result<(), StoreError> {
        self.in_time(self.migrate()).await
    }

    /// Checks that the schema is there and of this program's version. Changes nothing.
    ///
    /// # Errors
    /// When it is missing, older, newer or was changed by hand; the error says what to do.
    pub async fn validate_schema(&self) -> Result<(), StoreError> {
        self.in_time(async {
            let name = &self.inner().schema.name;
            let mut working = self.connection().await?;
            let transaction = working.get()?.transaction().await.map_err(translate)?;
            let exists = "SELECT to_regclass($1) IS NOT NULL";
            let table = format!("{}.migration", self.inner().schema.quoted);
            let row = transaction.query_one(exists, &[&table]).await.map_err(translate)?;
            let applied = match row.get(0) {
                true => self.applied(&transaction).await?,
                false => Vec::new(),
            };
            transaction.rollback().await.map_err(translate)?;
            working.done();
            check(name, &applied)?;
            if applied.len() == MIGRATIONS.len() {
                return Ok(());
            }
            let found = match applied.last() {
                Some(last) => format!("has version {}, older than this program's", last.version),
                None => "is missing".to_owned(),
            };
            let message = format!(
                "the schema `{name}` {found}: bring it up to date with \
                 `PostgresStore::ensure_schema`, or open it with `PostgresOptions::ensure_schema`"
            );
            Err(StoreError::new(StoreErrorKind::Schema, message))
        })
        .await
    }

    /// The statements that make the schema, for whoever applies them by hand.
    #[must_use]
    pub fn schema_sql(&self) -> String {
        let schema = &self.inner().schema.quoted;
        let fill = |sql: &str| sql.replace(":schema", schema);
        let migrations = MIGRATIONS.iter().map(|Migration { version, name, sql }| {
            // The checksum is that of the text before the name is filled in.
            format!(
                "{};\nINSERT INTO {schema}.migration (version, name, checksum)\n\
                 VALUES ({version}, '{name}', md5($migration${sql}$migration$))",
                fill(sql)
            )
        });
        let all: Vec<_> = std::iter::once(fill(HISTORY)).chain(migrations).collect();
        format!("{};\n", all.join(";\n"))
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        let schema = &self.inner().schema;
        let fill = |sql: &str| sql.replace(":schema", &schema.quoted);
        let mut working = self.connection().await?;
        // The lock goes with the transaction, however that ends.
        let transaction = working.get()?.transaction().await.map_err(translate)?;
        let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
        let name = format!("inbox migration of {}", schema.name);
        transaction.execute(lock, &[&name]).await.map_err(translate)?;
        // Only where it is missing: a role that owns the schema need not own the database.
        let exists = "SELECT to_regclass($1) IS NOT NULL";
        let table = format!("{}.migration", schema.quoted);
        let row = transaction.query_one(exists, &[&table]).await.map_err(translate)?;
        if !row.get::<_, bool>(0) {
            transaction.batch_execute(&fill(HISTORY)).await.map_err(translate)?;
        }
        let applied = self.applied(&transaction).await?;
        check(&schema.name, &applied)?;
        for migration in &MIGRATIONS[applied.len().min(MIGRATIONS.len())..] {
            transaction.batch_execute(&fill(migration.sql)).await.map_err(translate)?;
            let record = fill(
                "INSERT INTO :schema.migration (version, name, checksum) VALUES ($1, $2, md5($3))",
            );
            transaction
                .execute(&record, &[&migration.version, &migration.name, &migration.sql])
                .await
                .map_err(translate)?;
            let (version, name) = (migration.version, migration.name);
            tracing::info!(schema = schema.name, version, name, "schema migrated");
        }
        transaction.commit().await.map_err(translate)?;
        working.done();
        Ok(())
    }

    /// What was applied, in order, and whether its text is still ours.
    async fn applied(&self, transaction: &Transaction<'_>) -> Result<Vec<Applied>, StoreError> {
        let versions: Vec<_> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        let texts: Vec<_> = MIGRATIONS.iter().map(|migration| migration.sql).collect();
        let select = format!(
            "SELECT applied.version, applied.name, applied.checksum = md5(ours.sql)
             FROM {}.migration AS applied
             LEFT JOIN unnest($1::integer[], $2::text[]) AS ours (version, sql) USING (version)
             ORDER BY applied.version",
            self.inner().schema.quoted
        );
        let rows = transaction.query(&select, &[&versions, &texts]).await.map_err(translate)?;
        let read = |row: &tokio_postgres::Row| Applied {
            version: row.get(0),
            name: row.get(1),
            is_ours: row.get(2),
        };
        Ok(rows.iter().map(read).collect())
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
    for (at, Applied { version, name, is_ours }) in applied.iter().enumerate() {
        match is_ours {
            None if *version > latest => {
                return refused(format!(
                    "the schema `{schema}` has version {version} (`{name}`), and this program knows \
                     versions up to {latest}: update this program; nothing was changed"
                ));
            }
            Some(true) if MIGRATIONS.get(at).is_some_and(|ours| ours.version == *version) => {}
            Some(true) | None => {
                return refused(format!(
                    "the schema `{schema}` lacks a version before {version} (`{name}`): restore its \
                     table `migration` from a backup; nothing was changed"
                ));
            }
            Some(false) => {
                return refused(format!(
                    "version {version} (`{name}`) of the schema `{schema}` was made with another \
                     text than this program's: use the program that made it, or make the schema \
                     anew; nothing was changed"
                ));
            }
        }
    }
    Ok(())
}
