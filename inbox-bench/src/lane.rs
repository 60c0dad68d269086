use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use inbox::{State, handler};
use tokio::time::sleep;

use crate::contract::Step;
use crate::host::Calls;
use crate::measure::{Mark, Measure, per_second};
use crate::place::Place;
use crate::report::Report;
use crate::side::Side;
use crate::warm;
use crate::work;

/// Raw SQL takes one after the other, and needs no more to be timed.
const RAW_COUNT: usize = 500;

pub(crate) const HANDLER: &str = "bench.step";

#[handler(key = "bench.step")]
async fn step(command: Step, State(calls): State<Calls>) {
    match command.lane {
        Some(lane) => {
            if calls.lanes.step(lane, command.number).await {
                calls.note(command.number);
            }
        }
        None => calls.note(command.number),
    }
}

/// How far each lane is. Each must be handled in its order.
#[derive(Default)]
pub(crate) struct Lanes {
    next: Vec<AtomicUsize>,
    is_out_of_order: AtomicBool,
    is_background: bool,
}

impl Lanes {
    pub(crate) fn new(count: usize) -> Self {
        Self { next: (0..count).map(|_| AtomicUsize::new(0)).collect(), ..Self::default() }
    }

    /// One that is at work while something else is measured: it takes its time, so that it lasts.
    pub(crate) fn background() -> Self {
        Self { is_background: true, ..Self::new(1) }
    }

    /// Takes the next of a lane. Answers whether it is what is measured.
    async fn step(&self, lane: usize, number: usize) -> bool {
        const STEPS: usize = 20;
        const PAUSE: Duration = Duration::from_millis(1);
        if self.next[lane].swap(number + 1, Ordering::Relaxed) != number {
            self.is_out_of_order.store(true, Ordering::Relaxed);
        }
        if self.is_background && number.is_multiple_of(STEPS) {
            sleep(PAUSE).await;
        }
        !self.is_background
    }

    /// How many commands were handled.
    pub(crate) fn handled(&self) -> usize {
        self.next.iter().map(|next| next.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn check(&self) -> Result<()> {
        let is_in_order = !self.is_out_of_order.load(Ordering::Relaxed);
        ensure!(is_in_order, "a lane was handled out of order: the drain is broken");
        Ok(())
    }
}

/// All have one ordering key, or one of ten or of a thousand, so that each waits for the one before; one lane
/// beside a worker in raw SQL that leases and settles one after the other.
pub(crate) async fn drain(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const ONE: Measure = Measure::rate("drain, one lane");
    const SHARE: Measure = Measure::share("drain, one lane / keyless");
    const MANY: [(usize, Measure, Measure); 2] = [
        (
            10,
            Measure::rate("drain, 10 ordering keys"),
            Measure::share("drain, 10 ordering keys / keyless").with(Mark::Inbox(0.4)),
        ),
        (
            1_000,
            Measure::rate("drain, 1,000 ordering keys"),
            Measure::share("drain, 1,000 ordering keys / keyless").with(Mark::Inbox(0.4)),
        ),
    ];
    let keyless = work::keyless().rate_on(place).await?;
    report.add_ours(Measure::rate("drain, keyless, as many"), keyless);
    let mut one = f64::NAN;
    for side in place.sides(round) {
        let rate = match &**side {
            Side::Inbox(_) => {
                one = work::in_lanes(1).rate_on(place).await?;
                one
            }
            Side::Raw(raw) => {
                place.clear().await?;
                warm::work(side).await?;
                place.fill(RAW_COUNT).await?;
                let began = Instant::now();
                while let Some(held) = raw.lease(0, 1).await? {
                    raw.settle(0, Some(held)).await?;
                }
                let took = began.elapsed();
                place.done().await?;
                per_second(RAW_COUNT, took)
            }
        };
        report.add(ONE, side, rate);
    }
    report.add_ours(SHARE, one / keyless);
    for (lanes, measure, share) in MANY {
        let rate = work::in_lanes(lanes).rate_on(place).await?;
        report.add_ours(measure, rate);
        report.add_ours(share, rate / keyless);
    }
    Ok(())
}
