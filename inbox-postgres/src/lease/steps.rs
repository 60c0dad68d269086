use deadpool_postgres::Object;
use inbox_core::Now;
use inbox_core::settle::Settlement;
use inbox_core::store::{LeaseRequest, LeaseToken, Settle, StoreError, Wanted};
use tokio_postgres::Row;

use super::parameters::{ClaimParameters, Window, is_limited};
use crate::PostgresStore;
use crate::lease::answer::ClaimAnswer;
use crate::lease::claimed::{Asked, Claimed};
use crate::lease::outcome::ClaimOutcome;
use crate::parameter::Parameter;
use crate::sql::Sql;
use crate::store::Parameters;

/// A statement with what it is given.
type Given<'a> = (Sql, Vec<&'a dyn Parameter>);

/// What one claim is to bring.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) request: &'a LeaseRequest,
    pub(super) wanted: &'a Wanted,
    pub(super) limit: u32,
    /// Quarantined deliveries only, or none of them; either kind, if nothing is said.
    pub(super) quarantined: Option<bool>,
    /// Whether the handler has deliveries with ordering keys, as far as is known.
    pub(super) has_lanes: bool,
}

/// The statements of a claim, in their order.
pub(super) struct Steps {
    /// Before anything else, where the handler has limits: claims of it take turns.
    pub(super) lock: Option<Sql>,
    pub(super) win: Option<Sql>,
    pub(super) claim: Sql,
    pub(super) take: Option<Sql>,
    pub(super) behind: Option<Sql>,
}

impl Steps {
    fn of(wish: Wish<'_>) -> Self {
        let (all, is_limited) = (wish.has_lanes, is_limited(wish.wanted));
        let by_tenants = |[all, named, with_none]: [Sql; 3]| match &wish.request.tenants {
            None => all,
            Some(_) if wish.request.serves("") => with_none,
            Some(_) => named,
        };
        let claim = match (is_limited, all) {
            (true, _) => [
                Sql::claim_limited,
                Sql::claim_limited_tenants,
                Sql::claim_limited_tenants_and_none,
            ],
            (false, true) => [
                Sql::claim_beside_lanes,
                Sql::claim_beside_lanes_tenants,
                Sql::claim_beside_lanes_tenants_and_none,
            ],
            (false, false) => [Sql::claim, Sql::claim_tenants, Sql::claim_tenants_and_none],
        };
        let win = [Sql::lane_win, Sql::lane_win_tenants, Sql::lane_win_tenants_and_none];
        let behind =
            [Sql::lane_behind, Sql::lane_behind_tenants, Sql::lane_behind_tenants_and_none];
        let take = if is_limited { Sql::lane_take_limited } else { Sql::lane_take };
        Self {
            lock: is_limited.then_some(Sql::limit_lock),
            win: all.then(|| by_tenants(win)),
            claim: by_tenants(claim),
            take: all.then_some(take),
            behind: all.then(|| by_tenants(behind)),
        }
    }
}

impl PostgresStore {
    /// One claim: a statement or, where the handler has lanes or limits, some in one transaction and one round
    /// trip. Lanes are taken by a statement after the one that wins them: so it sees what their former holders
    /// put back.
    pub(super) async fn claim_from(
        &self,
        connection: &Object,
        wish: Wish<'_>,
        window: &Window<'_>,
        now: Now,
    ) -> Result<(Claimed, ClaimOutcome), StoreError> {
        let Wish { request, wanted, limit, quarantined, .. } = wish;
        let token = LeaseToken::new();
        let asked = Asked::new(self, token, now);
        let given =
            ClaimParameters::new((request, wanted), token, (limit, quarantined), window, now);
        let steps = Steps::of(wish);
        let named = |sql: Sql| (sql, given.of(self.parameters(sql)));
        let keys = [wanted.handler_key.as_str()];
        let (keys, mut statements): (&[&str], Vec<Given<'_>>) = (&keys, Vec::new());
        statements.extend(steps.lock.map(|sql| (sql, vec![&keys as &dyn Parameter])));
        statements.extend(steps.win.map(named));
        statements.push(named(steps.claim));
        statements.extend(steps.take.map(named));
        statements.extend(steps.behind.map(named));
        let answers = self.in_one(connection, &statements).await;
        let answer = answers.and_then(|answers| ClaimAnswer::of(&steps, token, answers));
        let answer = asked.answered(answer)?;
        let (read, outcome) = answer.read(request, wanted, window.levels)?;
        let claimed = Claimed::new(self.clone(), read.lease.into_iter().collect());
        // What follows an unreadable one of its lane has no turn.
        if !read.cut.is_empty() {
            let release = |id| Settle::by_id(token, id, Settlement::Release);
            let settles: Vec<_> = read.cut.into_iter().map(release).collect();
            self.settle_on(connection, &settles, now).await?;
        }
        Ok((claimed, outcome))
    }

    async fn in_one(
        &self,
        connection: &Object,
        statements: &[Given<'_>],
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        if let [(sql, parameters)] = statements {
            return self.query_on(connection, *sql, parameters).await.map(|rows| vec![rows]);
        }
        let statements: Vec<(&str, Parameters<'_>)> =
            statements.iter().map(|(sql, parameters)| (self.text(*sql), &parameters[..])).collect();
        self.client(connection).query_all(&statements).await
    }
}
