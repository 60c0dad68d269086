use std::collections::{BTreeMap, BTreeSet};

use inbox_core::Now;
use inbox_core::policy::OnDead;
use inbox_core::store::{LeaseRequest, LeaseToken, Wanted};
use uuid::Uuid;

use crate::lease::outcome::Scan;
use crate::parameter::Parameter;
use crate::schedule::moment;
use crate::value::{Moment, Span};

/// Which rows of `ready` a claim looks at: so many, by level in this order, from a number on.
pub(super) struct Window<'a> {
    pub(super) levels: &'a [i16],
    /// From where, without an ordering key and with one.
    pub(super) lows: &'a BTreeMap<Scan, i64>,
    pub(super) lane_lows: &'a BTreeMap<Scan, i64>,
    pub(super) size: u32,
}

/// A struct of parameters, each by the name that statements have for it.
macro_rules! parameters {
    ($(#[$doc:meta])* struct $name:ident<$life:lifetime> { $($parameter:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        pub(crate) struct $name<$life> { $($parameter: $type),* }

        impl $name<'_> {
            pub(crate) const NAMES: &'static [&'static str] = &[$(stringify!($parameter)),*];

            /// The values of these parameters.
            pub(super) fn of(&self, names: &[&str]) -> Vec<&dyn Parameter> {
                let value = |name: &&str| -> Option<&dyn Parameter> {
                    match *name {
                        $(stringify!($parameter) => Some(&self.$parameter),)*
                        // No statement is made with another one.
                        _ => None,
                    }
                };
                names.iter().filter_map(value).collect()
            }
        }
    };
}

parameters! {
    /// What the statements of one claim are given, by name.
    struct ClaimParameters<'a> {
        now: Option<Moment>,
        lease: Uuid,
        host: &'a str,
        handler_key: &'a str,
        levels: &'a [i16],
        scan_levels: Vec<i16>,
        scan_versions: Vec<i32>,
        scan_lows: Vec<i64>,
        lane_lows: Vec<i64>,
        window: i64,
        limit: i64,
        lanes: i64,
        length: i64,
        max_crashes: i32,
        duration: Span,
        limited: bool,
        blocks: bool,
        fleet: Option<i32>,
        per_key: Option<i32>,
        quarantined: Option<bool>,
        read_keys: Vec<&'a str>,
        read_versions: Vec<i32>,
        tenants: Option<Vec<&'a str>>,
    }
}

impl<'a> ClaimParameters<'a> {
    /// For at most `limit` deliveries; of quarantined ones only, of others only, or of either kind.
    pub(super) fn new(
        (request, wanted): (&'a LeaseRequest, &'a Wanted),
        token: LeaseToken,
        (limit, quarantined): (u32, Option<bool>),
        window: &Window<'a>,
        now: Now,
    ) -> Self {
        let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let scans: Vec<Scan> = readable(wanted)
            .flat_map(|(_, version)| window.levels.iter().map(move |level| (*level, version)))
            .collect();
        let from = |lows: &BTreeMap<Scan, i64>| {
            scans.iter().map(|scan| lows.get(scan).copied().unwrap_or(i64::MIN)).collect()
        };
        let (scan_lows, lane_lows) = (from(window.lows), from(window.lane_lows));
        let (scan_levels, scan_versions) = scans.into_iter().unzip();
        let (read_keys, read_versions) = request.wanted.iter().flat_map(readable).unzip();
        let terms = &wanted.terms;
        let permits = |limit: Option<std::num::NonZeroU32>| limit.map(|limit| number(limit.get()));
        Self {
            now: moment(now),
            lease: Uuid::from_u128(token.as_u128()),
            host: &request.host,
            handler_key: &wanted.handler_key,
            levels: window.levels,
            scan_levels,
            scan_versions,
            scan_lows,
            lane_lows,
            window: i64::from(window.size),
            limit: i64::from(limit),
            lanes: i64::from(terms.runs.lanes.get()),
            // With each delivery that a run of these holds, another worker has vanished twice.
            length: if quarantined == Some(true) { 1 } else { i64::from(terms.runs.length.get()) },
            max_crashes: number(wanted.max_crashes.get()),
            duration: Span(request.duration),
            limited: is_limited(wanted),
            blocks: terms.on_dead == OnDead::Block,
            fleet: permits(terms.fleet),
            per_key: permits(terms.per_key),
            quarantined,
            read_keys,
            read_versions,
            tenants: tenants(request),
        }
    }
}

/// The versions of a key that this worker reads.
pub(super) fn readable(wanted: &Wanted) -> impl Iterator<Item = (&str, i32)> {
    let versions = wanted.versions.iter().filter_map(|version| i32::try_from(*version).ok());
    versions.map(|version| (wanted.handler_key.as_str(), version))
}

/// Whether the handler has a limit of the fleet or of its concurrency keys.
pub(super) fn is_limited(wanted: &Wanted) -> bool {
    wanted.terms.fleet.or(wanted.terms.per_key).is_some()
}

/// The tenants that the worker serves, each once, unless all.
pub(super) fn tenants(request: &LeaseRequest) -> Option<Vec<&str>> {
    let served: BTreeSet<_> = request.tenants.as_ref()?.iter().map(String::as_str).collect();
    Some(served.into_iter().collect())
}
