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
        match side {
            Side::Inbox(_) => self.add_ours(measure, value),
            Side::Raw(_) => self.line(measure).raw.push(value),
        }
    }

    /// Of something that raw SQL has nothing like.
    pub(crate) fn add_ours(&mut self, measure: Measure, value: f64) {
        self.line(measure).inbox.push(value);
    }

    fn line(&mut self, measure: Measure) -> &mut Line {
        let at = self.0.iter().position(|line| line.measure.name == measure.name);
        let at = at.unwrap_or_else(|| {
            self.0.push(Line { measure, inbox: Vec::new(), raw: Vec::new() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        self.0.iter().map(Line::json).collect()
    }
}

/// Whether a mark was reached.
struct Verdict {
    /// What the mark is about.
    of: &'static str,
    bound: Bound,
    limit: f64,
    is_met: bool,
}

enum Bound {
    AtLeast,
    AtMost,
}

impl Line {
    /// The medians and their ratio; no numbers where there is no raw SQL.
    fn figures(&self) -> (f64, f64, f64) {
        let (inbox, raw) = (median(&self.inbox), median(&self.raw));
        (inbox, raw, inbox / raw)
    }

    fn verdict(&self) -> Option<Verdict> {
        let (inbox, _, ratio) = self.figures();
        let verdict = |of, bound, limit, is_met| Verdict { of, bound, limit, is_met };
        Some(match self.measure.mark? {
            Mark::Ratio(least) => verdict("ratio", Bound::AtLeast, least, ratio >= least),
            Mark::Inbox(least) => verdict("inbox", Bound::AtLeast, least, inbox >= least),
            Mark::AtMost(most) => verdict("inbox", Bound::AtMost, most, inbox <= most),
        })
    }

    fn json(&self) -> Value {
        let Measure { name, unit, .. } = self.measure;
        let (inbox, raw, ratio) = self.figures();
        let mark = self.verdict().map(|Verdict { of, bound, limit, is_met }| match bound {
            Bound::AtLeast => json!({ "of": of, "at_least": limit, "is_met": is_met }),
            Bound::AtMost => json!({ "of": of, "at_most": limit, "is_met": is_met }),
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
        writeln!(f, "{:<42}{:>13}{:>13}{:>8}  mark", "", "inbox", "raw SQL", "ratio")?;
        for line in &self.0 {
            let Measure { name, unit, .. } = line.measure;
            let (inbox, raw, ratio) = line.figures();
            write!(f, "{name:<42}{:>13}", unit.show(inbox))?;
            match line.raw.is_empty() {
                true => write!(f, "{:>13}{:>8}", "-", "-")?,
                false => write!(f, "{:>13}{ratio:>8.2}", unit.show(raw))?,
            }
            if let Some(Verdict { of, bound, limit, is_met }) = line.verdict() {
                let sign = match bound {
                    Bound::AtLeast => ">=",
                    Bound::AtMost => "<=",
                };
                let verdict = if is_met { "met" } else { "missed" };
                write!(f, "  {of} {sign} {limit}: {verdict}")?;
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
    fn a_line_without_raw_sql_has_no_ratio() {
        let measure = Measure::time("pickup").with(Mark::AtMost(50.0));
        let report = line(measure, &[49.0], &[]);
        let json = &report.json()[0];
        assert_eq!((&json["raw"], &json["ratio"]), (&Value::Null, &Value::Null));
        assert_eq!(json["mark"], json!({ "of": "inbox", "at_most": 50.0, "is_met": true }));
        let text = report.to_string();
        assert!(text.contains("49.00 ms            -       -  inbox <= 50: met"), "{text}");
    }

    #[test]
    fn a_time_is_better_when_lower() {
        let report = line(Measure::time("pickup"), &[3.0], &[2.0]);
        assert_eq!(report.json()[0]["better"], "lower");
        assert_eq!(report.json()[0]["mark"], Value::Null);
    }
}
