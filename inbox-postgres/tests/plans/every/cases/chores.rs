use super::Case;

/// Leases have no index by the moment they expire at: each renewal would have to write to it.
const LEASES: (&str, &str) = ("lease", "there is one row for each batch at work");

/// What is held under no lease is found by asking each.
const HELD: (&str, &str) = ("held", "it checks all that is in flight, and seldom runs");

pub(super) fn cases() -> Vec<Case> {
    vec![
        // As many lanes as deliveries.
        Case::new("reclaim", 1_000, "NULL, 500, 'lease-expired', 'gone'").reading(&[LEASES]),
        Case::new("lease_restore", 0, "NULL, 100").reading(&[LEASES, HELD]),
        Case::new("promote", 100, "NULL, 100"),
        Case::new("next_due", 1, "NULL"),
        // Each becomes five deliveries.
        Case::new("route", 500, "NULL, 100"),
        Case::new("announce", 2, "NULL, 'host', '{\"charge\": [1]}'"),
        Case::new("leave", 1, "'host'"),
        Case::new("hosts", 2, ""),
        Case::new("orphan_clear", 4, "NULL, '1 hour', '1 day'"),
        Case::new("orphan_mark", 2, "NULL, '1 hour', '1 day'"),
        Case::new("orphan_served", 100, "NULL, '1 hour', 'gone', 100"),
        Case::new("route_foreign", 1, "'other'"),
        Case::new("route_taken", 1, "'{paid}', '{charge}'"),
        Case::new(
            "route_register",
            2,
            "'{pay,new}', '{charge,new}', '{NULL,NULL}', NULL, '', '{true,true}'",
        ),
        Case::new("route_restore", 1, "'{pay}', '{ship}', '{pack}'"),
        Case::new("route_first", 1, "'{pay}', '{fresh}', '{charge}'"),
        Case::new("route_change", 1, "'pay', '{charge}', '{NULL}', '{true}'"),
        Case::new("routes", 6, "'{pay}'"),
        Case::new("bulk_unrouted", 6, "'{pay}'"),
    ]
}
