use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::program::Program;
use crate::shell::{cargo, printed};

/// The package whose tests take longest.
const LONGEST: &str = "inbox-tests";

/// What a `cargo test` of some arguments has built.
pub(super) struct Built(Vec<Value>);

impl Built {
    /// Builds everything, also the programs that tests start, with the features they have there.
    pub(super) fn of(arguments: &[&str]) -> Result<Self> {
        let mut build = cargo(arguments);
        build.args(["--no-run", "--message-format", "json-render-diagnostics"]);
        let printed = printed(&mut build)?;
        Ok(Self(printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// The programs of tests, in the order of their packages; those that start processes first, as they
    /// take longest and the others fill up beside them.
    pub(super) fn programs(&self) -> Result<Vec<Program>> {
        let tests = self.0.iter().filter(|message| message["profile"]["test"] == true);
        let tests = tests.filter(|message| message["executable"].is_string());
        let mut programs = tests.map(program).collect::<Option<Vec<_>>>();
        let programs = programs.as_mut().context("`cargo test` changed its form")?;
        ensure!(!programs.is_empty(), "there are no tests");
        programs.sort_by_key(|program| (program.package != LONGEST, program.name()));
        Ok(std::mem::take(programs))
    }

    /// Where a program is that is no test.
    pub(super) fn program(&self, name: &str) -> Result<&str> {
        let is_program = |message: &&Value| {
            message["target"]["name"] == name && message["profile"]["test"] == false
        };
        let program = self.0.iter().find(is_program);
        let program = program.and_then(|program| program["executable"].as_str());
        program.with_context(|| format!("the tests are built without the program `{name}`"))
    }
}

fn program(message: &Value) -> Option<Program> {
    let target = &message["target"];
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(Program {
        // `path+file:///…/inbox-core#0.1.0`, or `…/tests#inbox-tests@0.1.0`.
        package: package(message["package_id"].as_str()?, manifest)?,
        directory: manifest.parent()?.to_owned(),
        target: target["name"].as_str()?.to_owned(),
        kind: target["kind"][0].as_str()?.to_owned(),
        path: message["executable"].as_str()?.into(),
    })
}

fn package(id: &str, manifest: &Path) -> Option<String> {
    let (_, name) = id.rsplit_once('#')?;
    match name.split_once('@') {
        Some((name, _)) => Some(name.to_owned()),
        None => Some(manifest.parent()?.file_name()?.to_str()?.to_owned()),
    }
}
