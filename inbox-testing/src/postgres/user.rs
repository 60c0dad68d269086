use std::path::Path;
use std::process::Command;

use super::PostgresError;

/// The user `nobody`, where there is no `postgres`.
const NOBODY: (u32, u32) = (65_534, 65_534);

/// Who runs the server. PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerUser(Option<(u32, u32)>);

impl ServerUser {
    /// This user, or another one if this is root.
    pub(super) fn find() -> Self {
        match id(&["-u"]) {
            Some(0) => {
                let postgres = id(&["-u", "postgres"]).zip(id(&["-g", "postgres"]));
                Self(Some(postgres.unwrap_or(NOBODY)))
            }
            _ => Self(None),
        }
    }

    /// Makes `command` run as that user.
    pub(super) fn runs(self, command: &mut Command) {
        use std::os::unix::process::CommandExt as _;
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
    }

    /// What to write before a command line, so that it runs as that user.
    pub(super) fn prefix(self) -> Vec<String> {
        let Some((user, group)) = self.0 else { return Vec::new() };
        let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
        vec!["setpriv".to_owned(), user, group, "--clear-groups".to_owned()]
    }

    /// Gives that user the directory.
    pub(super) fn owns(self, directory: &Path) -> Result<(), PostgresError> {
        let Some((user, group)) = self.0 else { return Ok(()) };
        std::os::unix::fs::chown(directory, Some(user), Some(group)).map_err(|source| {
            let what = format!("could not give {} to the server's user", directory.display());
            PostgresError::Io { what, source }
        })
    }
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
