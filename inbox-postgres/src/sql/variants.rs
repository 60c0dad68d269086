use super::Sql;
use super::render::{Part, Template};

/// A file in `queries`.
macro_rules! query {
    ($name:literal) => {
        include_str!(concat!("../../queries/", $name, ".sql"))
    };
}

fn of(text: &'static str, parts: &[Part]) -> Template {
    Template { text, parts: parts.to_vec() }
}

/// The statements of which a file makes several.
pub(super) fn variants() -> Vec<(Sql, Template)> {
    let accept = |conflicts| of(query!("accept"), &[("conflicts", conflicts)]);
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

/// The tenants that a worker serves: where a claim looks for them, by which index, and what it leaves.
const ALL: [Part; 3] = [("served", ""), ("bytes", ""), ("theirs", "")];

/// A list without the empty tenant: the first of each, by the index on tenants. By bytes, as only that index has the
/// keys: by statistics of a quiet day PostgreSQL would take the smaller primary key, and walk over what all the
/// others have sent since.
const NAMED: [Part; 3] = [
    ("served", "CROSS JOIN unnest($tenants::text[]) AS served (tenant)"),
    ("bytes", "COLLATE \"C\""),
    ("theirs", "AND tenant = served.tenant AND tenant <> ''"),
];

/// A list with the empty tenant, whose messages are not in that index: those of others are passed by one after the
/// other.
const WITH_NONE: [Part; 3] =
    [("served", ""), ("bytes", ""), ("theirs", "AND tenant = ANY ($tenants)")];

/// What the deliveries without an ordering key may take: what the lanes that were won leave.
const ROOM: &str = "($limit - (SELECT count(*) FROM :schema.lane WHERE lease_id = $lease))";

/// The same for a handler with limits: where nothing is put behind a key, no more than the fleet has room for.
const LIMITED_ROOM: &str =
    "(SELECT CASE WHEN $per_key IS NOT NULL THEN $window::bigint ELSE deliveries END FROM room)";

/// What a worker claims with, and what it moves out of its way.
fn claims() -> Vec<(Sql, Template)> {
    const LOCK: Part = ("lock", "FOR UPDATE SKIP LOCKED");
    // To look is enough where lanes are to be won.
    const LOOK: Part = ("lock", "");
    const ONE_EACH: Part = ("permits", "NULL");
    const SHARED: Part = ("permits", "(SELECT permits FROM room)");
    let uncrowded = ("crowded", query!("parts/uncrowded"));
    let mut all = vec![
        (Sql::lane_take, of(query!("lane_take"), &[uncrowded, ONE_EACH])),
        (Sql::lane_take_limited, of(query!("lane_take"), &[ONE_EACH])),
    ];
    let mut add = |served: [Part; 3], [plain, beside, limited, win, behind]: [Sql; 5]| {
        let with = |text, most, parts: &[Part]| {
            of(text, &[&served[..], &[("most", most)], parts].concat())
        };
        all.extend([
            (plain, with(query!("claim"), "$limit", &[LOCK, ONE_EACH])),
            (beside, with(query!("claim"), ROOM, &[LOCK, ONE_EACH])),
            (limited, with(query!("claim_limited"), LIMITED_ROOM, &[LOCK, SHARED])),
            (win, with(query!("lane_win"), "$limit", &[LOOK])),
            (behind, of(query!("lane_behind"), &served)),
        ]);
    };
    add(
        ALL,
        [Sql::claim, Sql::claim_beside_lanes, Sql::claim_limited, Sql::lane_win, Sql::lane_behind],
    );
    add(
        NAMED,
        [
            Sql::claim_tenants,
            Sql::claim_beside_lanes_tenants,
            Sql::claim_limited_tenants,
            Sql::lane_win_tenants,
            Sql::lane_behind_tenants,
        ],
    );
    add(
        WITH_NONE,
        [
            Sql::claim_tenants_and_none,
            Sql::claim_beside_lanes_tenants_and_none,
            Sql::claim_limited_tenants_and_none,
            Sql::lane_win_tenants_and_none,
            Sql::lane_behind_tenants_and_none,
        ],
    );
    all
}

/// What settles: by the worker, or within the transaction of a handler, where it has to find everything.
fn settlements() -> Vec<(Sql, Template)> {
    // Of the transaction that the handler was given, or nothing is written.
    const DONE_WITHIN: &str =
        "UNION ALL SELECT NULL, :schema.must_settle((SELECT count(*) FROM mine), $5, $6) IS NULL";
    const WITHIN: &str =
        "UNION ALL SELECT NULL, :schema.must_settle((SELECT count(*) FROM mine), $11, $12) IS NULL";
    let done = |check| of(query!("settle_done"), &[("check", check)]);
    let any = |check| of(query!("settle"), &[("check", check)]);
    vec![
        (Sql::settle_done, done("")),
        (Sql::settle, any("")),
        (Sql::settle_done_within, done(DONE_WITHIN)),
        (Sql::settle_within, any(WITHIN)),
    ]
}

/// What ends lanes: of held deliveries, or of lanes by their names.
fn lanes() -> Vec<(Sql, Template)> {
    let end = |which, xid| of(query!("lane_end"), &[("which", which), ("xid", xid)]);
    vec![
        // This transaction is younger than the claim that saw the lane handed on, and so than whatever could
        // bring a delivery before the mark. Of one that an operator began, nobody knows.
        (Sql::lane_end_held, end(query!("parts/of_held"), "pg_current_xact_id()")),
        (Sql::lane_end, end(query!("parts/of_names"), "NULL")),
    ]
}

/// What wakes those that wait at a limit.
fn limits() -> Vec<(Sql, Template)> {
    let (held, message) = (query!("parts/freed_held"), query!("parts/freed_message"));
    let keyed = "WHERE freed.concurrency_key IS NOT NULL";
    let share = |freed, keyed| of(query!("limit_share"), &[("freed", freed), ("keyed", keyed)]);
    let wake = |freed| of(query!("limit_wake"), &[("freed", freed)]);
    vec![
        (Sql::limit_share_held, share(held, keyed)),
        (Sql::limit_share_keys, share(query!("parts/freed_first"), "")),
        (Sql::limit_share_message, share(message, keyed)),
        (Sql::limit_wake_held, wake(held)),
        (Sql::limit_wake_keys, wake(query!("parts/freed_keys"))),
        (Sql::limit_wake_message, wake(message)),
    ]
}
