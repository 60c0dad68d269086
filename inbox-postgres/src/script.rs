use crate::migrate::{HISTORY, LOCK, MIGRATIONS, Migration, lock_name};
use crate::schema::{Schema, literal};

/// What brings a schema of this version up to date, for whoever does it by hand: one transaction, which
/// waits for its turn like the others.
pub(crate) fn script(schema: &Schema, since: i32) -> String {
    let literal = literal(&lock_name(schema));
    let mut script = format!("BEGIN;\n{};\n", LOCK.replace("$1", &literal));
    if since < 1 {
        script.extend([schema.create(), schema.fill(HISTORY)]);
    }
    for Migration { version, name, sql } in MIGRATIONS.iter().filter(|next| next.version > since) {
        script.push_str(&schema.fill(sql));
        // The checksum is that of the text before the name is filled in.
        script
            .push_str(&schema.fill("\nINSERT INTO :schema.migration (version, name, checksum)\n"));
        let record = format!("({version}, '{name}', {})", checksum(sql));
        script.extend(["VALUES ", &record, ";\n"]);
    }
    script + "COMMIT;\n"
}

fn checksum(sql: &str) -> String {
    format!("encode(sha256(convert_to($migration${sql}$migration$, 'UTF8')), 'hex')")
}
