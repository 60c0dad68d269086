//! Lanes: whose turn it is in each.

use std::collections::BTreeSet;

use inbox_core::Timestamp;
use rusqlite::{Connection, Result, Row, params};

use crate::delivery::Moving;
use crate::sql::sql;

/// Names a lane by the key that its handler had first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaneName {
    pub(crate) first_key: String,
    pub(crate) tenant: String,
    pub(crate) ordering_key: String,
}

impl LaneName {
    /// Reads first key, tenant and ordering key.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self { first_key: row.get(0)?, tenant: row.get(1)?, ordering_key: row.get(2)? })
    }

    /// Gives the lane to the lease that takes the delivery in front. Answers whether it is so: while another lease
    /// holds any of the lane, it is not.
    pub(crate) fn win(
        &self,
        connection: &Connection,
        front: &Moving,
        now: Timestamp,
    ) -> Result<bool> {
        self.turn(connection, (front.id(), &front.handler_key), true, now)
    }

    /// Notes whose turn it is. Where a lease is to win the lane, it does so only if no other one holds any of it.
    fn turn(
        &self,
        connection: &Connection,
        (id, head_key): ([u8; 16], &str),
        wins: bool,
        now: Timestamp,
    ) -> Result<bool> {
        let Self { first_key, tenant, ordering_key } = self;
        let mut turn = connection.prepare_cached(sql!("lane_head"))?;
        let now = now.as_micros();
        let head = params![first_key, tenant, ordering_key, id, head_key, now, wins];
        Ok(turn.execute(head)? > 0)
    }

    /// Says anew whose turn it is, from where the deliveries of the lane are: this is the rule of the order. Answers
    /// whether one is in front, for a worker to lease.
    fn hand_on(&self, connection: &Connection, now: Timestamp) -> Result<bool> {
        let Self { first_key, tenant, ordering_key } = self;
        let name = [first_key, tenant, ordering_key];
        let mut select = connection.prepare_cached(sql!("lane_state"))?;
        let state = select.query_row(name, State::read)?;
        if state.front != state.ready {
            let mut front = connection.prepare_cached(sql!("lane_front"))?;
            // Of a lane there is room for one in front.
            for (seq, behind) in [(state.front, true), (state.ready, false)] {
                seq.map(|seq| front.execute(params![seq, behind])).transpose()?;
            }
        }
        match state.head {
            // A lane that nobody has begun is not in use.
            Some(_) if state.is_noted || (!state.has_row && state.ready.is_some()) => {}
            Some((id, key)) => drop(self.turn(connection, (id, &key), false, now)?),
            None if state.has_row => {
                connection.prepare_cached(sql!("lane_end"))?.execute(name)?;
            }
            None => {}
        }
        Ok(state.ready.is_some())
    }
}

/// A lane as it is, and as it was noted.
struct State {
    head: Option<([u8; 16], String)>,
    /// The head, if it is ready.
    ready: Option<i64>,
    /// Which one workers see.
    front: Option<i64>,
    has_row: bool,
    is_noted: bool,
}

impl State {
    fn read(row: &Row<'_>) -> Result<Self> {
        let id: Option<[u8; 16]> = row.get(0)?;
        let head = id.map(|id| row.get(1).map(|key| (id, key))).transpose()?;
        let (ready, front) = (row.get(2)?, row.get(3)?);
        Ok(Self { head, ready, front, has_row: row.get(4)?, is_noted: row.get(5)? })
    }
}

/// The lanes in which a call has moved something. They are handed on at its end, each once.
#[derive(Default)]
pub(crate) struct Touched(BTreeSet<LaneName>);

impl Touched {
    /// The lane of a delivery, if it has one.
    pub(crate) fn by(&mut self, delivery: &Moving) {
        self.0.extend(delivery.lane());
    }

    pub(crate) fn add(&mut self, lane: LaneName) {
        self.0.insert(lane);
    }

    /// Answers whether in any of them one is in front now.
    pub(crate) fn hand_on(self, connection: &Connection, now: Timestamp) -> Result<bool> {
        let mut is_any = false;
        for lane in self.0 {
            is_any |= lane.hand_on(connection, now)?;
        }
        Ok(is_any)
    }
}
