use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::{cargo, output, run};

/// Checks every package without features, and with each of its features alone: a feature that
/// works only beside another one is a surprise for whoever wants it alone.
pub(crate) fn each_alone() -> Result<()> {
    for (package, features) in packages()? {
        let check = ["check", "--quiet", "--package", &package, "--no-default-features"];
        run(&mut cargo(&check))?;
        for feature in features.iter().filter(|feature| *feature != "default") {
            run(cargo(&check).args(["--features", feature]))?;
        }
    }
    Ok(())
}

/// The workspace's packages, each with its features.
fn packages() -> Result<Vec<(String, Vec<String>)>> {
    let printed = output(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_slice(&printed.stdout)?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let read = |package: &Value| {
        let name = package["name"].as_str()?.to_owned();
        let features = package["features"].as_object()?.keys().cloned().collect();
        Some((name, features))
    };
    packages.iter().map(read).collect::<Option<_>>().context("`cargo metadata` changed its form")
}
