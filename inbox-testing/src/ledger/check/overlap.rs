use super::super::run::Run;

/// Runs that were valid while another one was that `excludes` them, each with the first such. `runs`
/// are ordered by their start.
pub(super) fn overlaps<'r, 'a>(
    runs: impl IntoIterator<Item = &'r Run<'a>>,
    excludes: impl Fn(&Run<'a>, &Run<'a>) -> bool,
) -> Vec<(&'r Run<'a>, &'r Run<'a>)> {
    let mut found = Vec::new();
    let mut active: Vec<&Run<'_>> = Vec::new();
    for run in runs.into_iter().filter(|run| run.was_valid()) {
        active.retain(|earlier| earlier.valid_until() > run.started_at);
        // One for each run: all pairs of a thousand would tell no more.
        if let Some(earlier) = active.iter().find(|earlier| excludes(earlier, run)) {
            found.push((*earlier, run));
        }
        active.push(run);
    }
    found
}
