//! The repository's own commands. `cargo xtask` alone lists them.

mod apt;
mod bench;
mod ci;
mod compile_time;
mod deny;
mod features;
mod link;
mod services;
mod shell;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test            every test: unit, integration, compile errors, doctests; on one
                            PostgreSQL of its own, or on the one that DATABASE_URL names; installs
                            PostgreSQL, PgBouncer and psycopg2 where missing (Debian; root or sudo);
                            those of the PostgreSQL store run again through PgBouncer; all of them
                            run whatever fails, and the end lists what to run again
cargo xtask test --busy     the same three times beside 8 busy processes, and once on a single core
cargo xtask ci              what must pass before a change lands: fmt, clippy, docs, features,
                            dependencies, then `test`, and a program of 200 handlers
cargo xtask link            duplicate keys across crates, in every profile (`test` takes two)
cargo xtask compile-time [ITEMS]
                            what 200 (or ITEMS) contracts and handlers add to a build
cargo xtask bench --quick [--only PART,PART] [--peers none] [--json FILE]
                            schedules and drains on PostgreSQL, with ratios to raw SQL; parts are schedule,
                            drain, host, lanes, limits, effects, pickup, beside, pinned, sqlite
cargo xtask bench --recovery
                            how long until the work of a vanished worker is done by another
cargo xtask ui              rewrites the expected compile errors; read the diff before committing
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["test"] => test::all(),
        ["test", "--busy"] => test::beside_other_work(),
        // A part of `test --busy`.
        ["spin"] => {
            test::spin();
            Ok(())
        }
        ["ci"] => ci::all(),
        ["link"] => link::every_profile(),
        ["compile-time"] => compile_time::report(200),
        ["compile-time", items] => match items.parse() {
            Ok(items) => compile_time::report(items),
            Err(_) => Err(anyhow::anyhow!("`{items}` is not a number of items")),
        },
        ["bench", arguments @ ..] => bench::run_with(arguments),
        ["ui"] => test::rewrite_expected_errors(),
        [] | ["help" | "--help"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        unknown => Err(anyhow::anyhow!("no such command: {}\n\n{USAGE}", unknown.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
