//! The statements: one for each file in `queries`, or several where a file has variants.

mod parts;
mod render;
mod variants;

use std::collections::HashMap;

use inbox_core::store::{StoreError, StoreErrorKind};

use crate::lease::ClaimParameters;
use crate::schema::in_schema;
use render::{Rendered, Template, render};
use variants::variants;

/// Names the statements, and brings the texts of the files along.
macro_rules! statements {
    (files: $($name:ident),* $(,)?; variants: $($made:ident),* $(,)?) => {
        /// The statements, one for each file in `queries`, and those of which a file makes several.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(non_camel_case_types, reason = "named as the files are")]
        pub(crate) enum Sql { $($name,)* $($made),* }

        fn files() -> Vec<(Sql, Template)> {
            vec![$((Sql::$name, Template {
                text: include_str!(concat!("../../queries/", stringify!($name), ".sql")),
                parts: Vec::new(),
            })),*]
        }
    };
}

statements! {
    files: accept_one, accept_called, accepted_before, accepted_called, may_insert, quarantined_next,
    lane_lock, lane_lock_held, lane_names, lane_unblock, lanes, limit_lock, renew, lease_restore, held_under,
    held_wait, backend, must_settle, promote, next_due, route, route_foreign, route_taken, route_register,
    route_restore, route_first, route_change, route_records, routes, announce, leave, hosts, orphan_clear,
    orphan_mark, orphan_served, message, show_deliveries, show_attempts, list, counts, retry, cancel, reschedule, act_left,
    bulk_clock, bulk_message, bulk_ready, bulk_waiting, bulk_stage, bulk_keyed, bulk_accept,
    bulk_unrouted, notify, reclaim, lanes_lost, lane_restart, limit_restart;
    variants: accept, accept_keyless, claim, claim_tenants, claim_tenants_and_none, claim_beside_lanes,
    claim_beside_lanes_tenants, claim_beside_lanes_tenants_and_none, claim_limited, claim_limited_tenants,
    claim_limited_tenants_and_none, lane_win, lane_win_tenants, lane_win_tenants_and_none, lane_behind,
    lane_behind_tenants, lane_behind_tenants_and_none, lane_take, lane_take_limited, settle, settle_done,
    settle_within, settle_done_within, lane_end, lane_end_held, limit_share_held, limit_share_keys,
    limit_share_message, limit_wake_held, limit_wake_keys, limit_wake_message,
}

/// The statements for one schema.
#[derive(Debug)]
pub(crate) struct Statements(HashMap<Sql, Rendered>);

impl Statements {
    /// Makes them, for the schema of this name, which is quoted already.
    ///
    /// # Errors
    /// When one cannot be made of its parts, which a test would have found.
    pub(crate) fn of(schema: &str) -> Result<Self, StoreError> {
        let made = files().into_iter().chain(variants()).map(|(sql, template)| {
            let made = render(&template, ClaimParameters::NAMES).map_err(|error| {
                let message = format!("statement `{sql:?}` cannot be made: {error}");
                StoreError::new(StoreErrorKind::Other, message)
            })?;
            Ok((sql, Rendered { text: in_schema(&made.text, schema), ..made }))
        });
        made.collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn text(&self, sql: Sql) -> &str {
        // Every statement is there, or the enum and its lists differ, which a test would have found.
        self.0.get(&sql).map_or("", |statement| &statement.text)
    }

    /// The names of the parameters, in their order.
    pub(crate) fn parameters(&self, sql: Sql) -> &[&'static str] {
        self.0.get(&sql).map_or(&[], |statement| &statement.parameters)
    }
}

#[cfg(test)]
mod tests;
