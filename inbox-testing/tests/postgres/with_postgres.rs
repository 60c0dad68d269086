use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::look::{connect, directory, until};

/// Prints the server's address, and ends with its input.
const ADDRESS: [&str; 3] = ["sh", "-c", "echo $DATABASE_URL; cat"];

fn with_postgres() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_with-postgres"));
    command.env_remove("DATABASE_URL");
    command
}

/// Starts a program that prints an address, and reads it.
fn address_from(command: &mut Command) -> (Child, String) {
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (program, line.trim().to_owned())
}

#[tokio::test]
async fn a_command_has_a_server_until_it_ends() {
    let (mut program, url) = address_from(with_postgres().args(ADDRESS));
    let directory = directory(&url).await;
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert!(!directory.exists());
    assert!(connect(&url).await.is_err());
}

#[tokio::test]
async fn the_server_of_a_killed_program_goes_away_with_its_data() {
    let (mut program, url) = address_from(with_postgres().args(ADDRESS));
    let directory = directory(&url).await;
    program.kill().unwrap();
    program.wait().unwrap();
    until("the data to go", async || (!directory.exists()).then_some(())).await;
    assert!(connect(&url).await.is_err());
}

#[tokio::test]
async fn the_server_goes_away_when_whoever_wanted_it_is_killed() {
    let caller = ["-c", r#""$@"; true"#, "caller", env!("CARGO_BIN_EXE_with-postgres")];
    let mut command = Command::new("sh");
    command.args(caller).args(ADDRESS).env_remove("DATABASE_URL");
    let (mut caller, url) = address_from(&mut command);
    let directory = directory(&url).await;
    // Held open: the command does not end by itself.
    let input = caller.stdin.take();
    caller.kill().unwrap();
    caller.wait().unwrap();
    until("the data to go", async || (!directory.exists()).then_some(())).await;
    drop(input);
}

#[tokio::test]
async fn a_server_that_is_named_is_used_and_none_is_started() {
    let url = "postgres://somebody@elsewhere/database";
    let (mut program, seen) = address_from(with_postgres().args(ADDRESS).env("DATABASE_URL", url));
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert_eq!(seen, url);
}

#[test]
fn a_command_that_cannot_be_started_is_named() {
    let output = with_postgres().arg("/nowhere/at/all").output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("could not run /nowhere/at/all"), "{said}");
}
