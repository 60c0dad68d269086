use super::{Case, lease, leases};
use crate::statements::claiming;

/// How many each claims, or puts behind others.
const MANY: u64 = 100;

/// To hold a limit of the fleet is to count what counts for it.
const COUNTED: [(&str, &str); 2] = [
    ("held", "all that counts for a limit is counted: what its permits are given for"),
    ("lease", "each lease says how many permits it has, and holds one at least"),
];
/// A statement of a claim, for this handler, of a hundred.
fn claim(name: &'static str, handler: &str, given: &[(&str, &str)]) -> Case {
    let (key, read) = (format!("'{handler}'"), format!("'{{{handler}}}'"));
    let usual = [
        ("handler_key", &*key),
        ("read_keys", &*read),
        ("read_versions", "'{1}'"),
        ("scan_levels", "'{3,2,1,0}'"),
        ("scan_versions", "'{1,1,1,1}'"),
        ("scan_lows", "'{-1,-1,-1,-1}'"),
        ("lane_lows", "'{-1,-1,-1,-1}'"),
        ("window", "100"),
        ("limit", "100"),
        ("lanes", "100"),
        ("limited", "true"),
    ];
    let given: Vec<_> = given.iter().chain(&usual).copied().collect();
    Case::new(name, MANY, claiming(name, &given).arguments)
}

pub(super) fn cases() -> Vec<Case> {
    let with_none = ("tenants", "'{acme,\"\"}'");
    let (fleet, per_key) = (("fleet", "60000"), ("per_key", "1"));
    let won = format!("'{}'", lease(999));
    let won = ("lease", &*won);
    vec![
        claim("claim", "charge", &[]),
        claim("claim_tenants", "charge", &[]),
        claim("claim_tenants_and_none", "charge", &[with_none]),
        claim("claim_beside_lanes", "charge", &[]),
        claim("claim_beside_lanes", "ship", &[]),
        claim("claim_beside_lanes_tenants", "charge", &[]),
        claim("claim_beside_lanes_tenants_and_none", "ship", &[with_none]),
        claim("claim_limited", "ship", &[per_key]),
        claim("claim_limited", "ship", &[fleet]).reading(&COUNTED),
        claim("claim_limited", "ship", &[per_key, fleet]).reading(&COUNTED),
        claim("claim_limited_tenants", "charge", &[per_key]),
        claim("claim_limited_tenants_and_none", "ship", &[with_none, per_key, fleet])
            .reading(&COUNTED),
        claim("lane_win", "charge", &[]),
        claim("lane_win", "ship", &[]),
        claim("lane_win", "ship", &[fleet]).reading(&COUNTED),
        claim("lane_win_tenants", "charge", &[]),
        claim("lane_win_tenants_and_none", "ship", &[with_none]),
        // What follows one that was won: fifty lanes of two.
        claim("lane_take", "ship", &[won]),
        claim("lane_take_limited", "ship", &[won, per_key]),
        claim("lane_behind", "charge", &[]),
        claim("lane_behind", "ship", &[]),
        claim("lane_behind_tenants", "charge", &[]),
        claim("lane_behind_tenants_and_none", "ship", &[with_none]),
        Case::new("quarantined_next", 3, "'{charge,ship,gone}', '{1,1,1}', NULL"),
        Case::new("quarantined_next", 3, "'{charge,ship,gone}', '{1,1,1}', '{\"\"}'"),
        Case::new("limit_lock", 1, "'{ship,pack}'"),
        // A hundred are held under each lease.
        Case::new("renew", 200, format!("NULL, {}, '1 min'", leases([20, 21, 900]))),
        Case::new("held_under", 200, leases([20, 21])),
    ]
}
