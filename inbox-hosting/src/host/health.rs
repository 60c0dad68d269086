use std::fmt;
use std::time::Duration;

use super::ChoreName;

/// A loop of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostLoop {
    /// Leases and dispatches.
    Pump,
    /// Writes what became of deliveries.
    Settler,
    /// Keeps leases from expiring.
    Renewer,
    /// Hears of what other processes schedule.
    Listener,
    /// A maintenance duty, such as reclaiming expired leases.
    Chore(ChoreName),
    /// Looks whether the store can be reached and has the right schema.
    Probe,
}

impl HostLoop {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pump => "pump",
            Self::Settler => "settler",
            Self::Renewer => "renewer",
            Self::Listener => "listener",
            Self::Chore(name) => name.as_str(),
            Self::Probe => "probe",
        }
    }
}

impl fmt::Display for HostLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a host is between its start and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HostPhase {
    /// Nobody has started it.
    #[default]
    New,
    /// It works.
    Running,
    /// It leases nothing more, and lets handlers finish.
    Stopping,
    /// It has ended.
    Stopped,
}

/// How one loop is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopHealth {
    /// Which one.
    pub name: HostLoop,
    /// How long ago it last came around.
    pub last_round: Duration,
    /// What is wrong with it.
    pub error: Option<String>,
}

/// What a host holds, in deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Load {
    /// Leased, and no handler called for them yet.
    pub buffered: usize,
    /// Handlers are at them.
    pub running: usize,
    /// Handled, and the store has not been told yet.
    pub unsettled: usize,
}

impl Load {
    /// All of them.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.buffered + self.running + self.unsettled
    }
}

/// How a host is, at one moment. Taking it asks nobody and never waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Where the host is between its start and its end.
    pub phase: HostPhase,
    /// Whether it was told to lease nothing for now.
    pub paused: bool,
    /// What it holds.
    pub load: Load,
    /// How each of its loops is.
    pub loops: Vec<LoopHealth>,
}

impl Health {
    /// Whether the host works: every loop that deliveries depend on comes around and gets answers
    /// from the store. Every chore is such a loop: without a heartbeat, others take this host for dead and
    /// dead-letter its deliveries as orphans. Red during an outage, and green again after it. A probe that
    /// restarts processes should be patient: a host gets over an outage of any length by itself.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let needed = |one: &&LoopHealth| !matches!(one.name, HostLoop::Listener | HostLoop::Probe);
        self.phase != HostPhase::Stopped
            && self.loops.iter().filter(needed).all(|one| one.error.is_none())
    }

    /// Whether the host is running, the store can be reached, and its schema is right.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let probe = self.loops.iter().find(|one| one.name == HostLoop::Probe);
        self.phase == HostPhase::Running
            && self.is_live()
            && probe.is_some_and(|probe| probe.error.is_none())
    }

    /// What is wrong, one line for each loop. A listener that is down delays what other processes
    /// schedule by up to the poll interval, and nothing else.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.loops.iter().filter_map(|one| {
            let error = one.error.as_ref()?;
            Some(format!("{}: {error}", one.name))
        })
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
        let live = word(self.is_live(), "live", "not live");
        write!(f, "{live}, {}", word(self.is_ready(), "ready", "not ready"))?;
        match self.phase {
            HostPhase::New => f.write_str(", not started")?,
            HostPhase::Running => {}
            HostPhase::Stopping => f.write_str(", stopping")?,
            HostPhase::Stopped => f.write_str(", stopped")?,
        }
        if self.paused {
            f.write_str(", paused")?;
        }
        let Load { buffered, running, unsettled } = self.load;
        write!(f, "; {running} running, {buffered} buffered, {unsettled} to settle")?;
        self.problems().try_for_each(|problem| write!(f, "; {problem}"))
    }
}
