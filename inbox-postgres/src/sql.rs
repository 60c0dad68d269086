use std::collections::HashMap;

use crate::lanes;
use crate::lease::{limits, tenants};

/// Names a statement in `queries`, and brings its text along; or one that is made from another.
macro_rules! statements {
    ($($name:ident),*; $($room:ident::$made:ident from $origin:ident),* $(,)?) => {
        /// The statements, one for each file in `queries`, and those made from them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(non_camel_case_types, reason = "named as the files are")]
        pub(crate) enum Sql { $($name,)* $($made),* }

        impl Sql {
            fn all() -> Vec<(Self, String)> {
                vec![
                    $((Self::$name, file!($name).to_owned()),)*
                    $((Self::$made, $room::$made(file!($origin)))),*
                ]
            }
        }
    };
}

macro_rules! file {
    ($name:ident) => {
        include_str!(concat!("../queries/", stringify!($name), ".sql"))
    };
}

statements! {
    accept, accept_one, accept_called, accepted_before, accepted_called, may_insert, lease, lease_keyless,
    lease_suspect,
    lane_lock, lane_lock_of, lane_pass, lane_unblock, lane_restart, lanes, lanes_lost, slot_guard, slot_lock,
    slot_free, slot_restart, slots_lost, renew, settle, settle_done, release,
    reclaim, promote, next_due, route, route_foreign, route_taken, route_register, route_restore, route_first,
    route_change, route_records, routes, announce, leave, hosts, orphan_clear, orphan_mark, orphan_take,
    message, show_deliveries, show_attempts, list, counts, retry, cancel, reschedule,
    act_left, bulk_clock, bulk_message, bulk_ready, bulk_waiting, bulk_stage, bulk_keyed, bulk_accept, notify,
    unit_wait;
    tenants::keyless_tenants from lease_keyless, tenants::keyless_tenants_and_none from lease_keyless,
    tenants::lease_tenants from lease, tenants::lease_tenants_and_none from lease,
    lanes::lane_mend from lane_pass,
    limits::lease_limited from lease, limits::lease_limited_tenants from lease,
    limits::lease_limited_tenants_and_none from lease,
}

/// The settings of a connection that is the store's own.
pub(crate) const SESSION: &str = include_str!("../queries/session.sql");

/// Begins a handler's transaction.
pub(crate) const UNIT_BEGIN: &str = include_str!("../queries/unit_begin.sql");

/// The settings for a handler's own statements.
pub(crate) const UNIT_THEIRS: &str = include_str!("../queries/unit_theirs.sql");

/// What comes before a handler's transaction is settled.
pub(crate) const UNIT_CLOSE: &str = include_str!("../queries/unit_close.sql");

/// The settings for lists.
pub(crate) const LOOK: &str = include_str!("../queries/look.sql");

/// The statements for one schema.
#[derive(Debug)]
pub(crate) struct Statements(HashMap<Sql, String>);

impl Statements {
    /// Fills in the name of the schema, which is quoted already.
    pub(crate) fn of(schema: &str) -> Self {
        let filled = |(sql, text): (Sql, String)| (sql, text.replace(":schema", schema));
        Self(Sql::all().into_iter().map(filled).collect())
    }

    pub(crate) fn text(&self, sql: Sql) -> &str {
        // Every statement is there, or the enum and its list differ, which one macro writes.
        self.0.get(&sql).map_or("", String::as_str)
    }
}
