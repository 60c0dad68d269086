use std::sync::Arc;

use deadpool_postgres::Object;
use inbox_core::Now;
use inbox_core::message::Envelope;
use inbox_core::store::{Accepted, StoreError, StoreErrorKind, StoreFuture, StoredMessage, Writer};

use crate::PostgresStore;
use crate::client::{Client, begin};
use crate::error::translate;
use crate::insert::{insert, insert_keyless};
use crate::rights::Way;
use crate::row::{column, stored_message, uuid};
use crate::sql::Sql;
use crate::value::Moment;

/// How often a message is tried again that conflicted with one which then was gone.
const TRIES: u32 = 10;

impl Writer for PostgresStore {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        Box::pin(async move {
            if envelopes.is_empty() {
                return Ok(Vec::new());
            }
            let accepted = self
                .in_time(async {
                    let mut working = self.connection().await?;
                    let answer = accept_ours(self, working.get()?, &envelopes, now).await;
                    working.done_with(&answer);
                    answer
                })
                .await;
            if may_be_new(&accepted) {
                self.ring_everywhere();
            }
            accepted
        })
    }

    fn wake(&self) {
        self.ring_everywhere();
    }
}

/// Whether something was stored, as far as anyone knows. What is for later counts: workers look again
/// when the first of it is due.
fn may_be_new(accepted: &Result<Vec<Accepted>, StoreError>) -> bool {
    match accepted {
        Ok(accepted) => accepted.iter().any(|one| matches!(one, Accepted::New { .. })),
        Err(error) => error.kind() == StoreErrorKind::TimedOut,
    }
}

/// All of them or none, on a connection of ours. One needs no transaction, for it is one statement; nor do
/// messages without keys, unless one of them was sent before.
async fn accept_ours(
    store: &PostgresStore,
    connection: &mut Object,
    envelopes: &[Envelope],
    now: Now,
) -> Result<Vec<Accepted>, StoreError> {
    if envelopes.len() == 1 {
        return accept(store, store.client(connection), envelopes, now).await;
    }
    let is_keyless = |envelope: &Envelope| envelope.message.idempotency_key.is_none();
    if store.way() == Way::Written && envelopes.iter().all(is_keyless) {
        match insert_keyless(store, store.client(connection), envelopes, now).await {
            Ok(accepted_at) => return Ok(vec![Accepted::New { accepted_at }; envelopes.len()]),
            // A conflict, if it is nothing worse: nothing was stored.
            Err(error) if error.kind() == StoreErrorKind::Other => {}
            Err(error) => return Err(error),
        }
    }
    let owner = store.inner().owner;
    let transaction = begin(connection, owner).await?;
    let client = Client::of(&transaction, owner);
    let accepted = accept(store, client, envelopes, now).await?;
    transaction.commit().await.map_err(translate)?;
    Ok(accepted)
}

/// Stores what is new, and looks up what was accepted before. An acceptance that is under way
/// elsewhere is waited for; if it comes to nothing, ours is tried again.
pub(crate) async fn accept(
    store: &PostgresStore,
    client: Client<'_>,
    envelopes: &[Envelope],
    now: Now,
) -> Result<Vec<Accepted>, StoreError> {
    let mut answers: Vec<Option<Accepted>> = vec![None; envelopes.len()];
    for _ in 0..TRIES {
        let open: Vec<usize> = (0..envelopes.len()).filter(|at| answers[*at].is_none()).collect();
        if open.is_empty() {
            break;
        }
        let asked: Vec<&Envelope> = open.iter().map(|at| &envelopes[*at]).collect();
        let mut new = insert(store, client, &asked, now).await?;
        let mut before = Vec::new();
        for (at, envelope) in open.iter().zip(&asked) {
            // Once: a message that is given twice is new the first time.
            match new.remove(&envelope.message.id) {
                Some(accepted_at) => answers[*at] = Some(Accepted::New { accepted_at }),
                None => before.push((*at, *envelope)),
            }
        }
        for (at, first) in look_up(store, client, &before).await? {
            answers[at] = Some(Accepted::Before(Box::new(first)));
        }
    }
    answers.into_iter().collect::<Option<_>>().ok_or_else(|| {
        let message = "a message conflicts with one that comes and goes: do it again";
        StoreError::new(StoreErrorKind::Busy, message)
    })
}

async fn look_up(
    store: &PostgresStore,
    client: Client<'_>,
    before: &[(usize, &Envelope)],
) -> Result<Vec<(usize, StoredMessage)>, StoreError> {
    if before.is_empty() {
        return Ok(Vec::new());
    }
    let messages = || before.iter().map(|(_, envelope)| &envelope.message);
    let ids: Vec<_> = messages().map(|message| uuid(message.id)).collect();
    let tenants: Vec<_> = messages().map(|message| message.tenant.as_str()).collect();
    let contracts: Vec<_> = messages().map(|message| message.contract.as_str()).collect();
    let keys: Vec<_> = messages().map(|message| message.idempotency_key.as_deref()).collect();
    let parameters: crate::store::Parameters<'_> = &[&ids, &tenants, &contracts, &keys];
    let sql = match store.way() {
        Way::Written => Sql::accepted_before,
        Way::Called => Sql::accepted_called,
    };
    let rows = client.query(store.text(sql), parameters).await?;
    let found = rows.iter().map(|row| {
        let place: i64 = column(row, 0)?;
        let at = usize::try_from(place - 1).ok().and_then(|place| before.get(place));
        let (at, _) = at.ok_or("an answer to nothing that was asked")?;
        Ok((*at, stored_message(row, 1)?))
    });
    found.collect::<Result<_, String>>().map_err(damaged)
}

pub(crate) fn damaged(reason: String) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "a row of the database cannot be read")
        .caused_by(reason)
}

pub(crate) fn moment(now: Now) -> Option<Moment> {
    match now {
        Now::OfStore => None,
        Now::At(moment) => Some(Moment(moment)),
    }
}
