use super::{Extract, Setup};
use crate::error::Rejection;
use crate::message::Headers;
use crate::provide::Missing;
use crate::request::Request;

impl Extract for Headers {
    type Prepared = ();

    fn prepare(_: &Setup<'_>) -> Result<(), Missing> {
        Ok(())
    }

    fn extract((): &(), request: &Request) -> Result<Self, Rejection> {
        Ok(request.delivery().message.headers.clone())
    }
}
