use super::*;

const FIRST: Migration =
    Migration { version: 1, name: "first", sql: "CREATE TABLE cars (name TEXT)" };
const SECOND: Migration =
    Migration { version: 2, name: "second", sql: "ALTER TABLE cars ADD COLUMN doors INTEGER" };
const BROKEN: Migration = Migration {
    version: 3,
    name: "broken",
    sql: "CREATE TABLE trucks (name TEXT); ALTER TABLE planes ADD COLUMN doors INTEGER",
};

fn memory() -> Connection {
    Connection::open_in_memory().unwrap()
}

fn run(connection: &mut Connection, migrations: &[Migration]) -> Result<(), StoreError> {
    migrate(&Place::Memory, connection, migrations)
}

fn applied(connection: &Connection) -> Vec<(u32, String)> {
    let mut select =
        connection.prepare("SELECT version, name FROM inbox_migration ORDER BY version").unwrap();
    let applied = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    applied.map(Result::unwrap).collect()
}

#[test]
fn what_an_older_program_stored_is_kept_and_only_what_is_missing_is_applied() {
    let mut connection = memory();
    run(&mut connection, &[FIRST]).unwrap();
    connection.execute("INSERT INTO cars (name) VALUES ('beetle')", []).unwrap();
    for _ in 0..2 {
        run(&mut connection, &[FIRST, SECOND]).unwrap();
    }
    assert_eq!(applied(&connection), [(1, "first".to_owned()), (2, "second".to_owned())]);
    let kept: (String, Option<u32>) = connection
        .query_row("SELECT name, doors FROM cars", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(kept, ("beetle".to_owned(), None));
}

#[test]
fn a_migration_that_fails_leaves_everything_as_it_was() {
    let mut connection = memory();
    run(&mut connection, &[FIRST]).unwrap();
    run(&mut connection, &[FIRST, SECOND, BROKEN]).unwrap_err();
    assert_eq!(applied(&connection), [(1, "first".to_owned())]);
    connection.prepare("SELECT doors FROM cars").unwrap_err();
    run(&mut connection, &[FIRST, SECOND]).unwrap();
}

#[test]
fn what_a_newer_program_stored_is_refused() {
    let mut connection = memory();
    run(&mut connection, &[FIRST, SECOND]).unwrap();
    let error = run(&mut connection, &[FIRST]).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Schema);
}
