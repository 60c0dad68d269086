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
    all.extend(claims());
    all.extend(settlements());
    all.extend(lanes());
    all.extend(limits());
    all
}

/// A part, by its name.
type Part = (&'static str, &'static str);

fn part(text: &'static str, parts: &[Part]) -> Template {
    Template { text, parts: parts.to_vec(), parameters: Vec::new() }
}

/// The tenants that a worker serves.
#[derive(Clone, Copy)]
enum Tenants {
    All,
    /// A list without the empty tenant: the first of each, by the index on tenants.
    Named,
    /// A list with the empty tenant, whose messages are not in that index: those of others are passed by one
    /// after the other.
    WithNone,
}

impl Tenants {
    fn parts(self) -> [Part; 3] {
        let (served, bytes, theirs) = match self {
            Self::All => ("", "", ""),
            Self::Named => (
                "CROSS JOIN unnest($tenants::text[]) AS served (tenant)",
                // By bytes, as only that index has the keys: by statistics of a quiet day PostgreSQL would take
                // the smaller primary key, and walk over what all the others have sent since.
                "COLLATE \"C\"",
                "AND tenant = served.tenant AND tenant <> ''",
            ),
            Self::WithNone => ("", "", "AND tenant = ANY ($tenants)"),
        };
        [("served", served), ("bytes", bytes), ("theirs", theirs)]
    }
}

/// What the deliveries without an ordering key may take: what the lanes that were won leave.
const ROOM: &str = "($limit - (SELECT count(*) FROM :schema.lane WHERE lease_id = $lease))";

/// The same for a handler with limits: where nothing is put behind a key, no more than the fleet has room for.
const LIMITED_ROOM: &str = "(SELECT CASE
                WHEN $per_key::integer IS NOT NULL THEN $window::bigint
                ELSE greatest(least($limit::bigint, $fleet::integer - :schema.held_units(first.key)) - won, 0)
            END
            FROM first, (SELECT count(*) AS won FROM :schema.lane WHERE lease_id = $lease) AS lanes)";

/// What a worker claims with, and what it moves out of its way.
fn claims() -> Vec<(Sql, Template)> {
    let mut all = Vec::new();
    for (tenants, [plain, beside, limited, win, behind]) in [
        (
            Tenants::All,
            [
                Sql::claim,
                Sql::claim_beside_lanes,
                Sql::claim_limited,
                Sql::lane_win,
                Sql::lane_behind,
            ],
        ),
        (
            Tenants::Named,
            [
                Sql::claim_tenants,
                Sql::claim_beside_lanes_tenants,
                Sql::claim_limited_tenants,
                Sql::lane_win_tenants,
                Sql::lane_behind_tenants,
            ],
        ),
        (
            Tenants::WithNone,
            [
                Sql::claim_tenants_and_none,
                Sql::claim_beside_lanes_tenants_and_none,
                Sql::claim_limited_tenants_and_none,
                Sql::lane_win_tenants_and_none,
                Sql::lane_behind_tenants_and_none,
            ],
        ),
    ] {
        let found = |room, lock| [("found", file!("parts/found")), ("room", room), ("lock", lock)];
        let lock = "FOR UPDATE SKIP LOCKED";
        let holds = [
            ("hold", file!("parts/hold")),
            ("message", file!("parts/message")),
            ("has_lanes", file!("parts/has_lanes")),
        ];
        let lanes = [("queued", file!("parts/queued")), ("lane_of", file!("parts/lane_of"))];
        let limits = [("limited", file!("parts/limited"))];
        let mut claim = |sql, text, groups: &[&[Part]]| {
            let mut parts = vec![("first", file!("parts/first"))];
            parts.extend(tenants.parts());
            parts.extend(groups.iter().copied().flatten());
            all.push((sql, claiming(part(text, &parts))));
        };
        claim(plain, file!("claim"), &[&found("$limit", lock), &holds]);
        claim(beside, file!("claim"), &[&found(ROOM, lock), &holds]);
        claim(limited, file!("claim_limited"), &[&found(LIMITED_ROOM, lock), &holds, &limits]);
        claim(win, file!("lane_win"), &[&found("$limit", ""), &lanes]);
        claim(behind, file!("lane_behind"), &[&lanes]);
    }
    for (sql, crowded) in [
        (Sql::lane_take, file!("parts/uncrowded")),
        (Sql::lane_take_limited, file!("parts/crowded")),
    ] {
        let parts = [
            ("first", file!("parts/first")),
            ("crowded", crowded),
            ("wake", file!("parts/wake")),
            ("hold", file!("parts/hold")),
            ("message", file!("parts/message")),
        ];
        all.push((sql, claiming(part(file!("lane_take"), &parts))));
    }
    all
}

/// The parameters of a claim, of which each statement has those that it names.
fn claiming(template: Template) -> Template {
    let named = super::render::named(&template);
    let parameters = CLAIMING.iter().copied().filter(|name| named.contains(*name)).collect();
    Template { parameters, ..template }
}

/// The names that `lease/parameters.rs` has values for.
const CLAIMING: [&str; 23] = [
    "now",
    "lease",
    "host",
    "handler_key",
    "levels",
    "scan_levels",
    "scan_versions",
    "scan_lows",
    "lane_lows",
    "window",
    "limit",
    "lanes",
    "length",
    "max_crashes",
    "duration",
    "limited",
    "blocks",
    "fleet",
    "per_key",
    "quarantined",
    "read_keys",
    "read_versions",
    "tenants",
];

/// What settles: by the worker, or within the transaction of a handler, where it has to find everything.
fn settlements() -> Vec<(Sql, Template)> {
    let over = ("over", file!("parts/over"));
    let kept = ("kept", file!("parts/kept"));
    let done = |answer| part(file!("settle_done"), &[over, ("answer", answer)]);
    let any = |answer| part(file!("settle"), &[over, kept, ("answer", answer)]);
    vec![
        (Sql::settle_done, done("SELECT nth, false FROM mine")),
        (Sql::settle, any("SELECT nth, cancelled FROM mine")),
        (
            Sql::settle_done_within,
            done(
                "SELECT nth, false FROM mine\nUNION ALL\nSELECT NULL, \
                 :schema.must_settle((SELECT count(*) FROM mine), $5, $6) IS NULL",
            ),
        ),
        (
            Sql::settle_within,
            any("SELECT nth, cancelled FROM mine\nUNION ALL\nSELECT NULL, \
                 :schema.must_settle((SELECT count(*) FROM mine), $11, $12) IS NULL"),
        ),
        (Sql::reclaim, part(file!("reclaim"), &[kept])),
    ]
}

/// What ends lanes, and what finds those that nobody would end.
fn lanes() -> Vec<(Sql, Template)> {
    let state = ("lane_state", file!("parts/lane_state"));
    let wake = ("wake", file!("parts/wake"));
    let end = |which, xid| part(file!("lane_end"), &[("which", which), state, wake, ("xid", xid)]);
    vec![
        // This transaction is younger than the claim that saw the lane handed on, and so than whatever could
        // bring a delivery before the mark. Of one that an operator began, nobody knows.
        (Sql::lane_end_held, end(file!("parts/of_held"), "pg_current_xact_id()")),
        (Sql::lane_end, end(file!("parts/of_names"), "NULL")),
        (Sql::lanes_lost, part(file!("lanes_lost"), &[state])),
        (Sql::lane_restart, part(file!("lane_restart"), &[("wake", file!("parts/wake"))])),
    ]
}

/// What wakes those that wait at a limit.
fn limits() -> Vec<(Sql, Template)> {
    let (held, keys) = (file!("parts/freed_held"), file!("parts/freed_keys"));
    let message = file!("parts/freed_message");
    let share = |freed, keyed| part(file!("limit_share"), &[("freed", freed), ("keyed", keyed)]);
    let keyed = "WHERE freed.concurrency_key IS NOT NULL";
    let wake = ("wake", file!("parts/wake"));
    let woken = |freed| part(file!("limit_wake"), &[("freed", freed), wake]);
    vec![
        (Sql::limit_share_held, share(held, keyed)),
        (Sql::limit_share_keys, share(file!("parts/freed_first"), "")),
        (Sql::limit_share_message, share(message, keyed)),
        (Sql::limit_wake_held, woken(held)),
        (Sql::limit_wake_keys, woken(keys)),
        (Sql::limit_wake_message, woken(message)),
        (Sql::limit_restart, part(file!("limit_restart"), &[wake])),
    ]
}
