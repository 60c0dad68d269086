use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep_until;

use super::ShutdownReport;
use super::control::{Control, Stop};

/// How long after its deadline a host has ended, if its runtime moves at all.
const LONGEST: Duration = Duration::from_secs(5);

/// Ends the wait for a host whose handlers hold every thread of its runtime: it cannot end itself, and
/// whoever waits for it should not wait for them. Runs on a runtime apart.
pub(super) async fn overdue(
    control: Arc<Control>,
    stop: Stop,
    reporting: watch::Sender<Option<ShutdownReport>>,
) {
    let mut stop = stop.subscribe();
    loop {
        let deadline = *stop.borrow_and_update();
        let passed = async {
            match deadline {
                Some(deadline) => sleep_until(deadline + LONGEST).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // An error would mean that nobody can stop it any more.
            changed = stop.changed() => if changed.is_err() { return },
            () = passed => break,
        }
    }
    let left = control.load.borrow().held() as u64;
    let is_overdue = reporting.send_if_modified(|report| {
        let is_overdue = report.is_none();
        if is_overdue {
            *report = Some(ShutdownReport { left, ..ShutdownReport::default() });
        }
        is_overdue
    });
    if is_overdue {
        tracing::error!(
            left,
            "the host cannot end: handlers hold every thread of its runtime, and what it holds \
             comes back when its leases expire"
        );
    }
}
