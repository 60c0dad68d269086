use std::fmt;

use serde_json::{Value, json};

use crate::measure::{Mark, Measure};
use crate::side::Side;

/// What each round measured, ours and raw SQL's.
#[derive(Default)]
pub(crate) struct Report(Vec<Line>);

struct Line {
    measure: Measure,
    inbox: Vec<f64>,
    raw: Vec<f64>,
}

impl Report {
    pub(crate) fn add(&mut self, measure: Measure, side: &Side, value: f64) {
        let at = self.0.iter().position(|line| line.measure.name == measure.name);
        let at = at.unwrap_or_else(|| {
            self.0.push(Line { measure, inbox: Vec::new(), raw: Vec::new() });
            self.0.len() - 1
        });
        match side {
            Side::Inbox(_) => self.0[at].inbox.push(value),
            Side::Raw(_) => self.0[at].raw.push(value),
        }
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        self.0.iter().map(Line::json).collect()
    }
}

impl Line {
    /// The medians and their ratio.
    fn figures(&self) -> (f64, f64, f64) {
        let (inbox, raw) = (median(&self.inbox), median(&self.raw));
        (inbox, raw, inbox / raw)
    }

    /// What the mark is about, what it asks for, and what was reached.
    fn mark(&self) -> Option<(&'static str, f64, f64)> {
        let (inbox, _, ratio) = self.figures();
        Some(match self.measure.mark? {
            Mark::Ratio(least) => ("ratio", least, ratio),
            Mark::Inbox(least) => ("inbox", least, inbox),
        })
    }

    fn json(&self) -> Value {
        let Measure { name, unit, .. } = self.measure;
        let (inbox, raw, ratio) = self.figures();
        let mark = self.mark().map(|(of, at_least, reached)| {
            json!({ "of": of, "at_least": at_least, "is_met": reached >= at_least })
        });
        json!({
            "name": name,
            "unit": unit.name(),
            "better": unit.better(),
            "inbox": inbox,
            "raw": raw,
            "ratio": ratio,
            "rounds": self.inbox.len(),
            "mark": mark,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<38}{:>13}{:>13}{:>8}  mark", "", "inbox", "raw SQL", "ratio")?;
        for line in &self.0 {
            let Measure { name, unit, .. } = line.measure;
            let (inbox, raw, ratio) = line.figures();
            let (inbox, raw) = (unit.show(inbox), unit.show(raw));
            write!(f, "{name:<38}{inbox:>13}{raw:>13}{ratio:>8.2}")?;
            if let Some((of, least, reached)) = line.mark() {
                let verdict = if reached >= least { "met" } else { "missed" };
                write!(f, "  {of} >= {least}: {verdict}")?;
            }
            writeln!(f)?;
        }
        let rounds = || self.0.iter().map(|line| line.inbox.len());
        let (least, most) = (rounds().min().unwrap_or(0), rounds().max().unwrap_or(0));
        writeln!(
            f,
            "Medians of {least} to {most} rounds. Of times the lower is better, else the higher."
        )
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = |at: usize| sorted.get(at).copied().unwrap_or(f64::NAN);
    f64::midpoint(middle(sorted.len().saturating_sub(1) / 2), middle(sorted.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(measure: Measure, inbox: &[f64], raw: &[f64]) -> Report {
        Report(vec![Line { measure, inbox: inbox.to_vec(), raw: raw.to_vec() }])
    }

    #[test]
    fn a_line_has_the_medians_their_ratio_and_whether_the_mark_is_met() {
        let measure = Measure::rate("drain").with(Mark::Ratio(0.5));
        let report = line(measure, &[90.0, 1.0, 60.0], &[100.0, 5_000.0, 80.0]);
        let expected = json!([{
            "name": "drain", "unit": "per_second", "better": "higher", "inbox": 60.0, "raw": 100.0,
            "ratio": 0.6, "rounds": 3, "mark": { "of": "ratio", "at_least": 0.5, "is_met": true },
        }]);
        assert_eq!(report.json(), expected);
        let text = report.to_string();
        assert!(text.contains("60 /s") && text.contains("ratio >= 0.5: met"), "{text}");
    }

    #[test]
    fn a_mark_of_our_own_does_not_look_at_raw_sql() {
        let measure = Measure::share("last tenth").with(Mark::Inbox(0.9));
        let text = line(measure, &[0.8], &[0.4]).to_string();
        assert!(text.contains("inbox >= 0.9: missed"), "{text}");
    }

    #[test]
    fn a_time_is_better_when_lower() {
        let report = line(Measure::time("pickup"), &[3.0], &[2.0]);
        assert_eq!(report.json()[0]["better"], "lower");
        assert_eq!(report.json()[0]["mark"], Value::Null);
    }
}
