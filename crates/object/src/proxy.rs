//! Proxies, as other programs take them from the environment.

use crate::settings::{Settings, Takes};
use crate::values;
use reqwest::{NoProxy, Proxy};
use smalti_types::{Error, Result};

/// The proxies that were set: one for all addresses, or one for `http` and one for `https`. Hosts in `network.no_proxy` are asked without any.
///
/// # Errors
/// `InvalidArgument`; addresses are not repeated, as they may have a password.
pub(crate) fn proxies(settings: &Settings) -> Result<Vec<Proxy>> {
    let no_proxy = settings.get("network.no_proxy").unwrap_or_default();
    // The crate takes it for the names of hosts, but not for their numbers.
    if no_proxy.split(',').any(|host| host.trim() == "*") {
        return Ok(Vec::new());
    }
    type Make = fn(String) -> reqwest::Result<Proxy>;
    let mut wanted: Vec<(&'static str, Make)> = vec![("network.proxy", Proxy::all::<String> as Make)];
    if settings.get("network.proxy").is_none() {
        wanted = vec![
            ("network.http_proxy", Proxy::http::<String>),
            ("network.https_proxy", Proxy::https::<String>),
        ];
    }
    let mut proxies = Vec::new();
    for (key, make) in wanted {
        let Some(address) = settings.get(key) else { continue };
        let proxy = values::address(address).and_then(|address| {
            make(address)
                .map_err(|_| Error::invalid("this is no address of a proxy; write it like http://host:port"))
        });
        let proxy = proxy.map_err(|error| error.context(key))?;
        proxies.push(proxy.no_proxy(NoProxy::from_string(no_proxy)));
    }
    Ok(proxies)
}

/// The proxies for messages, without their passwords: of addresses with `http`, and with `https`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) http: Option<String>,
    pub(crate) https: Option<String>,
}

/// What is said of the proxies that are asked.
pub(crate) fn shown(settings: &Settings) -> Shown {
    let exceptions = match settings.get("network.no_proxy") {
        Some(_) => ", unless network.no_proxy says otherwise",
        None => "",
    };
    let of = |key: &'static str| {
        let key = if settings.get("network.proxy").is_some() { "network.proxy" } else { key };
        let address = values::shown(Takes::Address, settings.get(key)?);
        Some(format!("{address} of {key}{exceptions}"))
    };
    Shown { http: of("network.http_proxy"), https: of("network.https_proxy") }
}
