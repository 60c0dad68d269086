use std::time::Duration;

/// Something that is measured, on both sides where raw SQL has the like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) mark: Option<Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond,
    Milliseconds,
    /// One rate as a share of another.
    Share,
}

/// What should be reached. For information: no machine is quiet enough to depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark {
    /// At least this ratio to raw SQL.
    Ratio(f64),
    /// At least this much, whatever raw SQL reaches.
    Inbox(f64),
    /// At most this much.
    AtMost(f64),
}

impl Measure {
    pub(crate) const fn rate(name: &'static str) -> Self {
        Self { name, unit: Unit::PerSecond, mark: None }
    }

    pub(crate) const fn time(name: &'static str) -> Self {
        Self { name, unit: Unit::Milliseconds, mark: None }
    }

    pub(crate) const fn share(name: &'static str) -> Self {
        Self { name, unit: Unit::Share, mark: None }
    }

    pub(crate) const fn with(self, mark: Mark) -> Self {
        Self { mark: Some(mark), ..self }
    }
}

impl Unit {
    /// For programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "per_second",
            Self::Milliseconds => "milliseconds",
            Self::Share => "share",
        }
    }

    pub(crate) fn better(self) -> &'static str {
        match self {
            Self::PerSecond | Self::Share => "higher",
            Self::Milliseconds => "lower",
        }
    }

    /// For people.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{value:.0} /s"),
            Self::Milliseconds => format!("{value:.2} ms"),
            Self::Share => format!("{value:.2}"),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is read to two digits")]
pub(crate) fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

pub(crate) fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
