//! The claims of workers that serve some tenants only, made from the one for all: `$17` is their list.

/// The claim for tenants with names: the first of each, by the index on tenants.
pub(crate) fn lease_tenants(lease: &str) -> String {
    lease
        .replace("/*served*/", "CROSS JOIN unnest($17::text[]) AS served (tenant)")
        .replace("/*theirs*/", "AND tenant = served.tenant AND tenant <> ''")
        // By bytes, as only that index has the keys: by statistics of a quiet day PostgreSQL would
        // take the smaller primary key, and walk over what all the others have sent since.
        .replace("/*bytes*/", "COLLATE \"C\"")
}

/// The claim for a list with the empty tenant, whose messages are not in that index: those of others
/// are passed by one after the other.
pub(crate) fn lease_tenants_and_none(lease: &str) -> String {
    lease.replace("/*theirs*/", "AND tenant = ANY ($17)")
}

/// The same for claims of what has no ordering key, whose list comes earlier.
pub(crate) fn keyless_tenants(lease: &str) -> String {
    lease_tenants(lease).replace("$17", "$14")
}

/// The same for a list with the empty tenant.
pub(crate) fn keyless_tenants_and_none(lease: &str) -> String {
    lease_tenants_and_none(lease).replace("$17", "$14")
}
