use super::Sql;
use super::render::Template;

/// A file in `queries`.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../queries/", $name, ".sql"))
    };
}

/// The statements that are made of parts.
pub(super) fn composed() -> Vec<(Sql, Template)> {
    let accept = |conflicts| part(file!("accept"), &[("conflicts", conflicts)]);
    let mut all = vec![
        (Sql::accept, accept("ON CONFLICT DO NOTHING")),
        // Without what looks for conflicts, which is a sixth of the server's work.
        (Sql::accept_keyless, accept("")),
    ];
    for (tenants, sql) in [
        (Tenants::All, [Sql::claim, Sql::claim_shared, Sql::claim_limited]),
        (
            Tenants::Named,
            [Sql::claim_tenants, Sql::claim_shared_tenants, Sql::claim_limited_tenants],
        ),
        (
            Tenants::WithNone,
            [
                Sql::claim_tenants_and_none,
                Sql::claim_shared_tenants_and_none,
                Sql::claim_limited_tenants_and_none,
            ],
        ),
    ] {
        let [plain, shared, limited] = sql;
        all.push((plain, claim(file!("claim"), None, tenants)));
        all.push((shared, claim(file!("claim_shared"), Some(file!("parts/unlimited")), tenants)));
        all.push((limited, claim(file!("claim_shared"), Some(LIMITED), tenants)));
    }
    all.extend(settlements());
    let none: &'static str = "";
    let pass = |gone| part(file!("lane_pass"), &[("gone", gone)]);
    all.push((Sql::lane_pass, pass(none)));
    all.push((Sql::lane_repair, pass(file!("parts/lane_gone"))));
    let (held, keys) = (file!("parts/freed_held"), file!("parts/freed_keys"));
    let wake = file!("parts/wake");
    all.push((Sql::limit_share_held, part(file!("limit_share"), &[("freed", held)])));
    all.push((
        Sql::limit_share_keys,
        part(file!("limit_share"), &[("freed", file!("parts/freed_first"))]),
    ));
    all.push((Sql::limit_wake_held, part(file!("limit_wake"), &[("freed", held), ("wake", wake)])));
    all.push((Sql::limit_wake_keys, part(file!("limit_wake"), &[("freed", keys), ("wake", wake)])));
    let message = file!("parts/freed_message");
    all.push((Sql::limit_share_message, part(file!("limit_share"), &[("freed", message)])));
    all.push((
        Sql::limit_wake_message,
        part(file!("limit_wake"), &[("freed", message), ("wake", wake)]),
    ));
    all.push((Sql::limit_restart, part(file!("limit_restart"), &[("wake", wake)])));
    let lanes = [
        ("first", file!("parts/first")),
        ("lane", file!("parts/lane")),
        ("lane_shared", file!("parts/lane_shared")),
        ("lane_won", file!("parts/lane_won")),
    ];
    let parameters = vec!["now", "handler_key", "alive_for", "limit", "reason", "error"];
    let orphans = Template { parameters, ..part(file!("orphan_take"), &lanes) };
    all.push((Sql::orphan_take, orphans));
    all
}

fn part(text: &'static str, parts: &[(&'static str, &'static str)]) -> Template {
    Template { text, parts: parts.to_vec(), parameters: Vec::new() }
}

/// The part that holds the limits of a handler.
const LIMITED: &str = file!("parts/limited");

/// The tenants that a worker serves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tenants {
    All,
    /// A list without the empty tenant: the first of each, by the index on tenants.
    Named,
    /// A list with the empty tenant, whose messages are not in that index: those of others are passed by one
    /// after the other.
    WithNone,
}

/// A claim. Its parameters are given in this order, by `lease/claim.rs`.
fn claim(text: &'static str, limits: Option<&'static str>, tenants: Tenants) -> Template {
    let mut parameters = vec![
        "now",
        "lease",
        "host",
        "handler_key",
        "levels",
        "scan_levels",
        "scan_versions",
        "scan_lows",
        "window",
        "max_crashes",
        "duration",
        "limited",
        "blocks",
    ];
    let (served, bytes, theirs) = match tenants {
        Tenants::All => ("", "", ""),
        Tenants::Named => (
            "CROSS JOIN unnest($tenants::text[]) AS served (tenant)",
            // By bytes, as only that index has the keys: by statistics of a quiet day PostgreSQL would take
            // the smaller primary key, and walk over what all the others have sent since.
            "COLLATE \"C\"",
            "AND tenant = served.tenant AND tenant <> ''",
        ),
        Tenants::WithNone => ("", "", "AND tenant = ANY ($tenants)"),
    };
    let mut parts = vec![
        ("first", file!("parts/first")),
        ("found", file!("parts/found")),
        ("hold", file!("parts/hold")),
        ("message", file!("parts/message")),
        ("served", served),
        ("bytes", bytes),
        ("theirs", theirs),
    ];
    if let Some(limits) = limits {
        parts.push(("lane", file!("parts/lane")));
        parts.push(("lane_shared", file!("parts/lane_shared")));
        parts.push(("lane_won", file!("parts/lane_won")));
        parts.push(("limits", limits));
        parameters.push("limit");
        if limits == LIMITED {
            parameters.extend(["fleet", "per_key"]);
        }
    }
    if tenants != Tenants::All {
        parameters.push("tenants");
    }
    Template { text, parts, parameters }
}

/// What settles: by the worker, or within the transaction of a handler, where it has to find everything.
fn settlements() -> Vec<(Sql, Template)> {
    let over = ("over", file!("parts/over"));
    let settle = |text, answer| part(text, &[over, ("answer", answer)]);
    vec![
        (Sql::settle_done, settle(file!("settle_done"), "SELECT nth, false FROM mine")),
        (Sql::settle, settle(file!("settle"), "SELECT nth, cancelled FROM mine")),
        (
            Sql::settle_done_within,
            settle(
                file!("settle_done"),
                "SELECT nth, false FROM mine\nUNION ALL\nSELECT NULL, \
                 :schema.must_settle((SELECT count(*) FROM mine), $5, $6) IS NULL",
            ),
        ),
        (
            Sql::settle_within,
            settle(
                file!("settle"),
                "SELECT nth, cancelled FROM mine\nUNION ALL\nSELECT NULL, \
                 :schema.must_settle((SELECT count(*) FROM mine), $11, $12) IS NULL",
            ),
        ),
    ]
}
