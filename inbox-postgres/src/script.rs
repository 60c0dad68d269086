use crate::migrate::{HISTORY, LOCK, MIGRATIONS, Migration, lock_name};
use crate::schema::Schema;

/// What brings a schema of this version up to date, for whoever does it by hand: one transaction, which
/// waits for its turn like the others.
pub(crate) fn script(schema: &Schema, since: i32) -> String {
    let literal = format!("'{}'", lock_name(schema).replace('\'', "''"));
    let mut script = format!("BEGIN;\n{};\n", LOCK.replace("$1", &literal));
    if since < 1 {
        script.push_str(&schema.fill(HISTORY));
    }
    for Migration { version, name, sql } in MIGRATIONS.iter().filter(|next| next.version > since) {
        script.push_str(&schema.fill(sql));
        // The checksum is that of the text before the name is filled in.
        script
            .push_str(&schema.fill("\nINSERT INTO :schema.migration (version, name, checksum)\n"));
        let record = format!("({version}, '{name}', md5($migration${sql}$migration$))");
        script.extend(["VALUES ", &record, ";\n"]);
    }
    script + "COMMIT;\n"
}
