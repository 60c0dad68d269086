use super::{Extract, Missing, Rejection, Setup};
use crate::dispatch::Request;
use crate::message::Headers;

impl Extract for Headers {
    type Prepared = ();

    fn prepare(_: &Setup<'_>) -> Result<(), Missing> {
        Ok(())
    }

    fn extract((): &(), request: &Request) -> Result<Self, Rejection> {
        Ok(request.delivery().message.headers.clone())
    }
}
