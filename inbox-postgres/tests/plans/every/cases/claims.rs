use super::{Case, leases};

/// How many each claims, or puts behind others.
const MANY: u64 = 100;

/// To hold a limit of the fleet is to count what counts for it.
const COUNTED: (&str, &str) =
    ("held", "all that counts for a limit is counted, which is no more than the limit");

pub(super) fn cases() -> Vec<Case> {
    let of = |handler: &str, more: &str| {
        format!(
            "NULL, gen_random_uuid(), 'host', '{handler}', '{{3,2,1,0}}', '{{3,2,1,0}}', '{{1,1,1,1}}',
             '{{-1,-1,-1,-1}}', {MANY}, 10, '1 min', true, true{more}"
        )
    };
    let claim = |name, handler, more| Case::new(name, MANY, of(handler, more));
    vec![
        claim("claim", "charge", ""),
        claim("claim_tenants", "charge", ", '{acme,nobody}'"),
        claim("claim_tenants_and_none", "charge", ", '{acme,\"\"}'"),
        claim("claim_shared", "charge", ", 100"),
        claim("claim_shared", "ship", ", 100"),
        claim("claim_shared_tenants", "charge", ", 100, '{acme,nobody}'"),
        claim("claim_shared_tenants_and_none", "ship", ", 100, '{acme,\"\"}'"),
        claim("claim_limited", "ship", ", 100, NULL, 1"),
        claim("claim_limited", "ship", ", 100, 60000, 1").reading(&[COUNTED]),
        claim("claim_limited_tenants", "charge", ", 100, NULL, 1, '{acme,nobody}'"),
        claim("claim_limited_tenants_and_none", "ship", ", 100, 60000, 1, '{acme,\"\"}'")
            .reading(&[COUNTED]),
        Case::new("quarantined_next", 3, "'{charge,ship,gone}', '{1,1,1}', NULL"),
        Case::new("quarantined_next", 3, "'{charge,ship,gone}', '{1,1,1}', '{\"\"}'"),
        Case::new("limit_lock", 1, "'{ship,pack}'"),
        // A hundred are held under each lease.
        Case::new("renew", 200, format!("NULL, {}, '1 min'", leases([20, 21, 900]))),
        Case::new("held_under", 200, leases([20, 21])),
    ]
}
