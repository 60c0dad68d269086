use anyhow::Result;

use crate::shell::{cargo, run};
use crate::{compile_time, deny, features, test};

/// What must pass before a change lands, the quick checks first.
pub(crate) fn all() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    lints()?;
    docs()?;
    features::each_alone()?;
    deny::dependencies()?;
    test::all()?;
    compile_time::report(200)
}

fn lints() -> Result<()> {
    let clippy = ["clippy", "--workspace", "--all-targets", "--all-features", "--"];
    run(cargo(&clippy).args(["-D", "warnings"]))
}

fn docs() -> Result<()> {
    let doc = ["doc", "--workspace", "--no-deps", "--all-features", "--document-private-items"];
    run(cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))
}
