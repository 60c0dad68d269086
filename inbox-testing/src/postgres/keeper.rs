use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::PostgresError;
use super::error::io;
use super::user::ServerUser;

/// Starts the server, and again whenever it reads the name of a signal to stop it with. Its input ends
/// when whoever started it is gone, for whatever reason. Then it stops the server and removes its data,
/// unless a failed test asked to keep them.
const KEEPER: &str = r#"
directory=$1
end=$2
shift 2
while
    "$@" >> "$directory/log" 2>&1 &
    server=$!
    read -r signal
do
    kill -s "$signal" "$server"
    wait "$server"
done
kill -s "$end" "$server"
wait "$server"
[ -e "$directory/keep" ] || rm -rf "$directory"
"#;

/// The shell that holds a server, and the server's command line.
#[derive(Debug)]
pub(super) struct Keeper {
    shell: Child,
    user: ServerUser,
    server: Vec<String>,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
    /// It ends its connections and writes everything down.
    Fast,
    /// It leaves everything as it is.
    Immediate,
}

impl Keeper {
    /// Starts the server that this command line is; `end` is the signal that it ends at once by.
    pub(super) fn start(
        user: ServerUser,
        directory: &Path,
        end: &str,
        server: Vec<String>,
    ) -> Result<Self, PostgresError> {
        let mut shell = Command::new("sh");
        shell.args(["-c", KEEPER, "keeper"]).arg(directory).arg(end).args(&server);
        shell.current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: it must outlive an interrupt from the keyboard, to clean up after it.
        shell.process_group(0);
        user.runs(&mut shell);
        let shell = shell.spawn().map_err(io("could not start a shell"))?;
        Ok(Self { shell, user, server })
    }

    /// Has the server stopped and started again.
    pub(super) fn restart(&mut self, stop: Stop) -> Result<(), PostgresError> {
        let signal = match stop {
            Stop::Fast => "INT\n",
            Stop::Immediate => "QUIT\n",
        };
        let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let told = self.shell.stdin.as_mut().ok_or_else(gone);
        told.and_then(|input| input.write_all(signal.as_bytes()))
            .map_err(io("could not reach the shell that holds the server"))
    }

    /// What to type to have the server again, with the data that were kept.
    pub(super) fn command(&self) -> String {
        let words = self.user.prefix().into_iter().chain(self.server.iter().cloned());
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/_-.,:=@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
