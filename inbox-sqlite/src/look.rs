//! Which of the ready deliveries a claim meets: those without an ordering key, and those in front of their lanes.

use std::ops::RangeInclusive;

use inbox_core::message::Priority;
use inbox_core::store::{LeaseRequest, Wanted};
use rusqlite::{Connection, Result, params};
use serde_json::Value;

use crate::ready::{Ready, Scan};
use crate::room::Room;
use crate::sql::{sql, sql_beside};

/// Finds what a worker may take of one key, in their order: those of the priority that comes first, and then of all
/// that are left. Of each lane, the one in front.
pub(crate) fn look(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    room: &mut Room<'_>,
) -> Result<Vec<Ready>> {
    let limit = room.of_fleet(wanted.limit.get())? as usize;
    let level = |priority: Priority| i64::from(priority.level());
    let first = request.first.map(|first| level(first)..=level(first));
    let mut view = View { connection, wanted, limit, found: Vec::new() };
    for priorities in first.into_iter().chain([i64::MIN..=i64::MAX]) {
        let before = view.found.len();
        match &request.tenants {
            // Messages without a tenant are not in the index on tenants. A concurrency key is a tenant's own, so
            // each is looked at alone.
            Some(named) if !request.serves("") => {
                let statements = [sql!("lease_look_tenant"), sql_beside!("lease_look_tenant")];
                for tenant in named {
                    view.scan(statements, Some(tenant), &priorities, before, room)?;
                }
            }
            _ => {
                let statements = [sql!("lease_look"), sql_beside!("lease_look")];
                view.scan(statements, tenants(request).as_deref(), &priorities, before, room)?;
            }
        }
        view.cut(before);
    }
    Ok(view.found)
}

/// What a claim sees of one key.
struct View<'a> {
    connection: &'a Connection,
    wanted: &'a Wanted,
    limit: usize,
    found: Vec<Ready>,
}

impl View<'_> {
    /// Adds as many as could be taken, if there were only these and the first `before`.
    fn scan(
        &mut self,
        statements: [&str; 2],
        scope: Option<&str>,
        priorities: &RangeInclusive<i64>,
        before: usize,
        room: &mut Room<'_>,
    ) -> Result<()> {
        let (limit, mut lanes) = (self.limit - before, self.lanes_left(before));
        let versions = Value::from(self.wanted.versions.clone()).to_string();
        let (lowest, highest) = (priorities.start(), priorities.end());
        let mut statements = [
            self.connection.prepare_cached(statements[0])?,
            self.connection.prepare_cached(statements[1])?,
        ];
        let mut scans = Vec::new();
        for (statement, of_lanes) in statements.iter_mut().zip([false, true]) {
            let key = &self.wanted.handler_key;
            let rows = statement.query(params![key, versions, scope, lowest, highest, of_lanes])?;
            scans.push(Scan::begin(rows, of_lanes)?);
        }
        let start = self.found.len();
        while self.found.len() - start < limit {
            let open = scans.iter_mut().filter(|scan| !scan.of_lanes || lanes > 0);
            let next = open.filter_map(|scan| Some((scan.next.as_ref()?.turn(), scan)));
            let Some((_, scan)) = next.min_by_key(|(turn, _)| *turn) else { break };
            let of_lanes = scan.of_lanes;
            let Some(ready) = scan.advance()? else { break };
            let is_known = self.found[..before].iter().any(|known| known.seq == ready.seq);
            if !is_known && room.of_key(&ready.delivery)? {
                lanes -= usize::from(of_lanes);
                self.found.push(ready);
            }
        }
        Ok(())
    }

    /// Puts what is after the first `before` in order, and leaves no more than may be taken.
    fn cut(&mut self, before: usize) {
        let mut lanes = self.lanes_left(before);
        let mut added = self.found.split_off(before);
        added.sort_by_key(Ready::turn);
        added.retain(|ready| {
            let of_lane = usize::from(ready.delivery.ordering_key.is_some());
            let fits = of_lane <= lanes;
            lanes -= if fits { of_lane } else { 0 };
            fits
        });
        added.truncate(self.limit - before);
        self.found.extend(added);
    }

    /// How many lanes may be won beside those of the first so many.
    fn lanes_left(&self, before: usize) -> usize {
        let most = self.wanted.terms.runs.lanes.get() as usize;
        let of_lane = |ready: &&Ready| ready.delivery.ordering_key.is_some();
        most.saturating_sub(self.found[..before].iter().filter(of_lane).count())
    }
}

/// The tenants that the worker serves, unless all.
pub(crate) fn tenants(request: &LeaseRequest) -> Option<String> {
    Some(Value::from(request.tenants.clone()?).to_string())
}
