use std::time::Instant;

use anyhow::Result;

use crate::shell::{cargo, run};
use crate::{compile_time, deny, features, test};

/// What must pass before a change lands, the quick checks first. Each says how long it took.
pub(crate) fn all() -> Result<()> {
    timed("fmt", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    timed("lints", lints)?;
    timed("docs", docs)?;
    timed("features", features::each_alone)?;
    timed("dependencies", deny::dependencies)?;
    timed("tests", test::all)?;
    timed("many handlers", || compile_time::check(200))
}

fn timed(what: &str, check: impl FnOnce() -> Result<()>) -> Result<()> {
    let begun = Instant::now();
    let checked = check();
    println!("{what}: {} s", begun.elapsed().as_secs());
    checked
}

fn lints() -> Result<()> {
    let clippy = ["clippy", "--workspace", "--all-targets", "--all-features", "--"];
    run(cargo(&clippy).args(["-D", "warnings"]))
}

fn docs() -> Result<()> {
    let doc = ["doc", "--workspace", "--no-deps", "--all-features", "--document-private-items"];
    run(cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))
}
