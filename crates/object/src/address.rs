//! Addresses that were set, of which requests can be made.

use crate::settings::Settings;
use crate::values;
use object_store::client::{HttpRequest, HttpRequestBody};
use smalti_types::{Error, Result};

/// The address that a key is set to, of which requests can be made; `None` where it is set to none.
///
/// # Errors
/// `InvalidArgument`; the value is not repeated, as it may have a password.
pub(crate) fn address_of(settings: &Settings, key: &'static str) -> Result<Option<String>> {
    let Some(value) = settings.get(key) else { return Ok(None) };
    checked(value).map(Some).map_err(|error| error.context(key))
}

/// An address of which requests can be made.
///
/// # Errors
/// As [`address_of`].
pub(crate) fn checked(address: &str) -> Result<String> {
    let address = values::address(address)?;
    match reqwest::Url::parse(&address).is_ok() && get(&address).is_ok() {
        true => Ok(address),
        false => Err(Error::invalid("this is no address of a service")),
    }
}

/// A request without a body.
///
/// # Errors
/// `InvalidArgument` for what is no address.
pub(crate) fn get(address: &str) -> Result<HttpRequest> {
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.uri_mut() = address.parse().map_err(|_| Error::invalid("this is no address of a service"))?;
    Ok(request)
}
