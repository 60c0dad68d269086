use inbox::store::{LeaseRequest, Wanted};

use crate::table::{Name, Place, Table};

impl Table {
    /// What a claim takes: of what it has met, in the order of leasing, as much as there is room for, and of each
    /// lane the run that begins with the one whose turn it is.
    pub(crate) fn with_runs(
        &self,
        request: &LeaseRequest,
        wanted: &Wanted,
        met: Vec<Name>,
    ) -> Vec<Name> {
        let (limit, runs) = (wanted.limit.get(), wanted.terms.runs);
        let (mut chosen, mut lanes) = (Vec::new(), 0);
        for name in met {
            let of_lane = u32::from(self.lane_of(&name).is_some());
            if chosen.len() < limit as usize
                && lanes + of_lane <= runs.lanes.get()
                && self.has_room(wanted, &name, &chosen)
            {
                lanes += of_lane;
                chosen.push(name);
            }
        }
        let others = u32::try_from(chosen.len()).unwrap_or(limit) - lanes;
        let length = runs.length_of(lanes, limit - others);
        chosen.into_iter().flat_map(|first| self.run(request, wanted, first, length)).collect()
    }

    /// The oldest of a lane, up to the first that this worker may not take with them.
    fn run(&self, request: &LeaseRequest, wanted: &Wanted, first: Name, length: u32) -> Vec<Name> {
        let Some(lane) = self.lane_of(&first) else { return vec![first] };
        let all = self.in_lanes().remove(&lane).unwrap_or_default();
        let mut run = Vec::new();
        for (_, _, next) in all.into_iter().take(length as usize) {
            if !run.is_empty() && !self.goes_along(request, wanted, &run, &next) {
                break;
            }
            run.push(next);
        }
        run
    }

    fn goes_along(
        &self,
        request: &LeaseRequest,
        wanted: &Wanted,
        run: &[Name],
        next: &Name,
    ) -> bool {
        let (row, message) = (&self.deliveries[next], &self.messages[&next.0].message);
        let reads = |one: &Wanted| {
            next.1.as_ref() == Some(&one.handler_key) && one.versions.contains(&message.version)
        };
        let is_like = |one: &Name| self.concurrency_key(one) == self.concurrency_key(next);
        matches!(row.place, Place::Ready { .. })
            && !row.is_quarantined()
            && request.wanted.iter().any(reads)
            && (wanted.terms.per_key.is_none() || run.iter().all(is_like))
            // A message may be there under two keys of the handler: a token settles it by its id.
            && run.iter().all(|one| one.0 != next.0)
    }
}
