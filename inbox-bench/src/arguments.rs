use std::fs::File;

use anyhow::{Context as _, Result, bail};

const USAGE: &str = "--quick [--only PART,PART] [--peers none] [--json FILE], or --recovery";

/// What the quick benchmark measures, in its order.
const PARTS: [&str; 10] = [
    "schedule", "drain", "host", "lanes", "limits", "effects", "pickup", "beside", "pinned",
    "sqlite",
];

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    is_recovery: bool,
    /// All parts, if none are named.
    only: Vec<String>,
    json: Option<String>,
}

impl Arguments {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let (mut json, mut is_quick, mut is_recovery) = (None, false, false);
        let mut only = Vec::new();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => is_quick = true,
                "--recovery" => is_recovery = true,
                "--only" => only = parts(arguments.next().as_deref())?,
                "--peers" => match arguments.next().as_deref() {
                    Some("none") => {}
                    _ => bail!("there are no peers to run yet: write `--peers none`"),
                },
                "--json" => match arguments.next() {
                    Some(file) if !file.starts_with("--") => json = Some(file),
                    _ => bail!("`--json` needs a file to write: write `--json FILE`"),
                },
                _ => bail!("cannot understand `{argument}`: write {USAGE}"),
            }
        }
        if is_quick == is_recovery {
            bail!("there are two benchmarks, one at a time: write {USAGE}");
        }
        if is_recovery && (json.is_some() || !only.is_empty()) {
            bail!("`--json` and `--only` are for the quick benchmark: write {USAGE}");
        }
        Ok(Self { is_recovery, only, json })
    }

    /// Whether to measure how fast the work of a vanished worker is done by others, and nothing else.
    pub(crate) fn is_recovery(&self) -> bool {
        self.is_recovery
    }

    /// Whether a part is measured.
    pub(crate) fn has(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|one| one == part)
    }

    /// Where the figures go besides the screen.
    pub(crate) fn create_json(&self) -> Result<Option<File>> {
        let Some(file) = &self.json else { return Ok(None) };
        let created = File::create(file);
        created.map(Some).with_context(|| {
            format!(
                "cannot write `{file}`: write `--json` with a file in a directory that is there"
            )
        })
    }
}

/// Parts by their names.
fn parts(named: Option<&str>) -> Result<Vec<String>> {
    let parts: Vec<_> = named.unwrap_or_default().split(',').map(str::to_owned).collect();
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        bail!("`--only` knows no part `{unknown}`: write one or more of {}", PARTS.join(","));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned)).map_err(|e| e.to_string())
    }

    #[test]
    fn the_options_come_in_any_order() {
        let json = Some("figures.json".to_owned());
        let quick = |json| Ok(Arguments { is_recovery: false, only: Vec::new(), json });
        assert_eq!(read("--quick"), quick(None));
        assert_eq!(read("--json figures.json --peers none --quick"), quick(json));
        let (recovery, only) = (read("--recovery").unwrap(), read("--quick --only lanes,limits"));
        assert!(recovery.is_recovery && recovery.has("lanes"));
        let has = ["schedule", "lanes", "limits"].map(|part| only.as_ref().unwrap().has(part));
        assert_eq!(has, [false, true, true]);
    }

    #[test]
    fn what_cannot_be_understood_is_answered_with_what_to_write() {
        for (line, answer) in [
            ("", "one at a time: write --quick"),
            ("--quick --recovery", "one at a time: write --quick"),
            ("--recovery --json figures.json", "are for the quick benchmark"),
            ("--recovery --only lanes", "are for the quick benchmark"),
            ("--quick --only lane", "knows no part `lane`: write one or more of schedule,drain"),
            ("--quick --only", "knows no part ``"),
            ("--quick --fast", "cannot understand `--fast`: write --quick"),
            ("--quick --peers", "write `--peers none`"),
            ("--quick --peers all", "write `--peers none`"),
            ("--quick --json", "write `--json FILE`"),
            ("--json --quick", "write `--json FILE`"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(answer), "{line}: {error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_found_out_before_anything_is_measured() {
        let arguments = read("--quick --json /nowhere/at/all.json").unwrap();
        let error = arguments.create_json().unwrap_err().to_string();
        assert!(error.contains("`/nowhere/at/all.json`"), "{error}");
    }
}
