use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How many a second each measurement reached, ours and raw SQL's.
#[derive(Default)]
pub(crate) struct Report {
    names: Vec<&'static str>,
    rates: BTreeMap<&'static str, (Vec<f64>, Vec<f64>)>,
}

impl Report {
    pub(crate) fn add(&mut self, name: &'static str, count: u64, took: Duration) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
        self.rates.entry(name).or_default().0.push(rate(count, took));
    }

    pub(crate) fn add_raw(&mut self, name: &'static str, count: u64, took: Duration) {
        self.rates.entry(name).or_default().1.push(rate(count, took));
    }

    /// Each measurement with its medians and their ratio.
    fn rows(&self) -> impl Iterator<Item = (&'static str, f64, f64, f64)> {
        self.names.iter().filter_map(|name| {
            let (ours, raw) = self.rates.get(name)?;
            let (ours, raw) = (median(ours), median(raw));
            Some((*name, ours, raw, ours / raw))
        })
    }

    pub(crate) fn json(&self) -> String {
        let rows = self.rows().map(|(name, ours, raw, ratio)| {
            serde_json::json!({ "name": name, "per_second": ours, "raw_per_second": raw, "ratio": ratio })
        });
        serde_json::Value::from(rows.collect::<Vec<_>>()).to_string()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is read to two digits")]
fn rate(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

fn median(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24}{:>14}{:>14}{:>10}", "", "inbox /s", "raw SQL /s", "ratio")?;
        for (name, ours, raw, ratio) in self.rows() {
            writeln!(f, "{name:<24}{ours:>14.0}{raw:>14.0}{ratio:>10.2}")?;
        }
        Ok(())
    }
}
