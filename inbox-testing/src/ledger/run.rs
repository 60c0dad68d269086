use std::collections::{HashMap, VecDeque};
use std::fmt;

use inbox_core::Timestamp;
use inbox_core::message::MessageId;

use super::{Entry, SeenLease};

/// One call of a handler for one delivery: a start, and the end that belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Run<'a> {
    pub(super) message_id: MessageId,
    pub(super) handler_key: &'a str,
    pub(super) attempt: u32,
    /// As last known.
    pub(super) lease: SeenLease,
    pub(super) started_at: Timestamp,
    pub(super) end: Option<End>,
    process: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) at: Timestamp,
    pub(super) ok: bool,
}

impl Run<'_> {
    /// When it stopped being an attempt that may settle its delivery. Of a run that never ended,
    /// its process killed, only the lease is known.
    pub(super) fn valid_until(&self) -> Timestamp {
        let expires_at = self.lease.expires_at;
        self.end.map_or(expires_at, |end| end.at.min(expires_at))
    }

    pub(super) fn was_valid(&self) -> bool {
        self.started_at < self.valid_until()
    }

    pub(super) fn started_in_time(&self) -> bool {
        self.started_at < self.lease.expires_at
    }

    /// Whether its lease was over before it was.
    pub(super) fn lost_its_lease(&self) -> bool {
        self.end.is_some_and(|end| end.at >= self.lease.expires_at)
    }

    /// When it succeeded, if its lease still held then, or may have.
    pub(super) fn succeeded_at(&self) -> Option<Timestamp> {
        let held_until = self.lease.renewing_until.unwrap_or(self.lease.expires_at);
        let end = self.end.filter(|end| end.ok && end.at < held_until)?;
        Some(end.at)
    }
}

/// The runs under a lease, ordered by their start. Those by hand compete with nobody.
pub(super) fn runs(entries: &[Entry]) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let mut open: HashMap<_, VecDeque<usize>> = HashMap::new();
    for entry in entries {
        match entry {
            Entry::Started { message_id, handler_key, attempt, lease, at, process } => {
                let Some(lease) = *lease else { continue };
                let key = (*message_id, handler_key, *attempt, lease.token);
                open.entry(key).or_default().push_back(runs.len());
                runs.push(Run {
                    message_id: *message_id,
                    handler_key,
                    attempt: *attempt,
                    lease,
                    started_at: *at,
                    end: None,
                    process: Some(*process),
                });
            }
            Entry::Finished { message_id, handler_key, attempt, lease, ok, at } => {
                let Some(lease) = *lease else { continue };
                let key = (*message_id, handler_key, *attempt, lease.token);
                let end = Some(End { at: *at, ok: *ok });
                match open.get_mut(&key).and_then(VecDeque::pop_front) {
                    Some(index) => {
                        runs[index].end = end;
                        runs[index].lease = lease;
                    }
                    // The start is torn. That it ended is known all the same.
                    None => runs.push(Run {
                        message_id: *message_id,
                        handler_key,
                        attempt: *attempt,
                        lease,
                        started_at: *at,
                        end,
                        process: None,
                    }),
                }
            }
            Entry::Accepted { .. } => {}
        }
    }
    runs.sort_by_key(|run| run.started_at);
    runs
}

impl fmt::Display for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempt, lease, started_at, .. } = self;
        write!(f, "attempt {attempt} under lease {}", lease.token)?;
        if let Some(process) = self.process {
            write!(f, " in process {process}")?;
        }
        write!(f, " (started {started_at}, ")?;
        match self.end {
            Some(End { at, ok: true }) => write!(f, "succeeded {at}")?,
            Some(End { at, ok: false }) => write!(f, "failed {at}")?,
            None => f.write_str("never ended")?,
        }
        write!(f, ", lease until {})", lease.expires_at)
    }
}
