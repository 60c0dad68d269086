use std::cmp::Reverse;

use rusqlite::{Result, Row, Rows};

use crate::delivery::{COLUMNS, Moving};

/// A row of `ready`.
pub(crate) struct Ready {
    pub(crate) seq: i64,
    pub(crate) delivery: Moving,
}

impl Ready {
    /// Reads the columns of a delivery and its number.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self { seq: row.get(COLUMNS)?, delivery: Moving::read(row)? })
    }

    /// The order of leasing.
    pub(crate) fn turn(&self) -> (Reverse<i64>, i64) {
        (Reverse(self.delivery.priority), self.seq)
    }
}

/// Rows in the order of leasing, read as far as needed.
pub(crate) struct Scan<'s> {
    rows: Rows<'s>,
    pub(crate) next: Option<Ready>,
    pub(crate) of_lanes: bool,
}

impl<'s> Scan<'s> {
    pub(crate) fn begin(rows: Rows<'s>, of_lanes: bool) -> Result<Self> {
        let mut scan = Self { rows, next: None, of_lanes };
        scan.advance()?;
        Ok(scan)
    }

    /// Answers the next one, and reads the one after it.
    pub(crate) fn advance(&mut self) -> Result<Option<Ready>> {
        let next = self.rows.next()?.map(Ready::read).transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}
