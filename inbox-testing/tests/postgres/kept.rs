use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use inbox_testing::postgres::{PostgresDatabase, PostgresServer};

use crate::look::{connect, until};

/// Set where one of the first two tests below is to fail.
const FAIL: &str = "INBOX_TEST_FAIL";

#[tokio::test]
async fn a_test_leaves_evidence_where_it_is_told_to_fail() {
    let database = PostgresDatabase::create().await.unwrap();
    let client = database.connect().await.unwrap();
    client.batch_execute("CREATE TABLE evidence ()").await.unwrap();
    assert!(std::env::var_os(FAIL).is_none(), "told to fail");
}

#[tokio::test]
async fn a_test_with_its_own_server_leaves_evidence_where_it_is_told_to_fail() {
    let server = PostgresServer::start().unwrap();
    let client = connect(&server.url("postgres")).await.unwrap();
    client.batch_execute("CREATE TABLE evidence ()").await.unwrap();
    println!("\nwhat is kept: {}", server.url("postgres"));
    assert!(std::env::var_os(FAIL).is_none(), "told to fail");
}

#[tokio::test]
async fn the_database_of_a_failed_test_can_be_looked_at() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let test = "kept::a_test_leaves_evidence_where_it_is_told_to_fail";
    let kept = Kept::by_failure_of(&mut program, test);
    // The harness's number for tests that failed.
    assert_eq!(kept.status.code(), Some(101));
    kept.has_evidence().await;
}

#[tokio::test]
async fn the_server_of_a_failed_test_can_be_looked_at() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let test = "kept::a_test_with_its_own_server_leaves_evidence_where_it_is_told_to_fail";
    Kept::by_failure_of(&mut program, test).has_evidence().await;
}

#[tokio::test]
async fn the_server_of_a_failed_command_can_be_looked_at() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_with-postgres"));
    program.arg(std::env::current_exe().unwrap());
    let test = "kept::a_test_leaves_evidence_where_it_is_told_to_fail";
    let kept = Kept::by_failure_of(&mut program, test);
    assert_eq!(kept.status.code(), Some(101), "not the command's own");
    kept.has_evidence().await;
}

/// What a failed test left, and said about it.
struct Kept {
    status: ExitStatus,
    url: String,
    command: String,
    directory: PathBuf,
}

impl Kept {
    fn by_failure_of(program: &mut Command, test: &str) -> Self {
        program.args(["--exact", test, "--nocapture"]).env(FAIL, "").env_remove("DATABASE_URL");
        let output = program.output().unwrap();
        let said = String::from_utf8([output.stderr, output.stdout].concat()).unwrap();
        let after = |words: &str| {
            let found = said.lines().find_map(|line| line.split_once(words));
            found.unwrap_or_else(|| panic!("not said: {words}\n{said}")).1.to_owned()
        };
        let (url, command) = (after(" kept: "), after(" again with: "));
        let data = command.split(' ').skip_while(|word| *word != "-D").nth(1).unwrap();
        let directory = Path::new(data).parent().unwrap().to_owned();
        Self { status: output.status, url, command, directory }
    }

    /// Does what it was told to do for a look.
    async fn has_evidence(&self) {
        let running = self.directory.join("data/postmaster.pid");
        until("the server to stop", async || (!running.exists()).then_some(())).await;
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {}", self.command)]).stderr(Stdio::null());
        let server = Stopped(shell.spawn().unwrap());
        let client = until("the server", async || connect(&self.url).await.ok()).await;
        client.batch_execute("SELECT FROM evidence").await.unwrap();
        drop(server);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.directory).unwrap();
    }
}

/// A server that this test started by hand.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        // Politely, so that it takes its own processes with it.
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}
