//! A web server: how it is asked, what its refusals mean, and what it turned out to do.

use super::address::{Address, encoded};
use crate::error::innermost;
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, HeaderName, HeaderValue, LOCATION,
    RETRY_AFTER,
};
use reqwest::{Method, Response, StatusCode, Url};
use smalti_store::join;
use smalti_types::{Error, ErrorKind, Result};
use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Redirects that are followed for one request.
const MAX_REDIRECTS: usize = 10;

/// The first pause before a request is sent again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// A server that files are read from.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) client: reqwest::Client,
    pub(super) address: Address,
    /// How often a request is sent again, and for how long.
    pub(super) retries: u64,
    pub(super) retry_time: Duration,
    /// Whether it gives parts of files.
    pub(super) ranges: Learnt,
    /// Whether it gives the end of a file whose length it is not told.
    pub(super) suffixes: Learnt,
    /// Whether it tells lengths without the file.
    pub(super) heads: Learnt,
}

/// Something about a server that the first answers tell.
#[derive(Debug, Default)]
pub(super) struct Learnt(AtomicU8);

impl Learnt {
    pub(super) fn is_known(&self, what: bool) -> bool {
        self.0.load(Ordering::Relaxed) == 1 + u8::from(what)
    }

    pub(super) fn learn(&self, what: bool) {
        self.0.store(1 + u8::from(what), Ordering::Relaxed);
    }
}

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    File(&'a str),
    /// Its address ends in a slash.
    Folder(&'a str),
}

/// A request that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Error,
    /// The next try may succeed.
    is_passing: bool,
    /// When the server wants to be asked again.
    after: Option<Duration>,
}

impl Failed {
    /// For good.
    pub(super) fn of(error: Error) -> Failed {
        Failed { error, is_passing: false, after: None }
    }
}

impl Server {
    /// The address of a path, as users may write it: without the login.
    pub(super) fn address_of(&self, path: &str) -> String {
        join(&self.address.origin, &encoded(path))
    }

    fn url(&self, target: Target<'_>) -> Result<Url> {
        let address = match target {
            Target::File(path) => self.address_of(path),
            Target::Folder("") => format!("{}/", self.address.origin),
            Target::Folder(path) => format!("{}/", self.address_of(path)),
        };
        Url::parse(&address).map_err(|error| Error::invalid(error.to_string()).at_uri(address))
    }

    /// Tries something until it succeeds, fails for good, or is tried often enough.
    pub(super) async fn tried<T, F: Future<Output = Result<T, Failed>> + Send>(
        &self,
        attempt: impl Fn() -> F + Send + Sync,
    ) -> Result<T> {
        let begun = Instant::now();
        let (mut pause, mut try_idx) = (FIRST_PAUSE, 0);
        loop {
            let failed = match attempt().await {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            if !failed.is_passing || try_idx >= self.retries || begun.elapsed() >= self.retry_time {
                let count = try_idx + 1;
                return Err(match try_idx {
                    0 => failed.error,
                    _ => failed.error.context(format_args!("after {count} tries")),
                });
            }
            // Between a half and the whole of it, so that those who were refused together do not come back together.
            let spread = RandomState::new().hash_one(try_idx) % 512;
            let jittered = pause.mul_f64(0.5 + f64::from(u16::try_from(spread).unwrap_or(0)) / 1024.0);
            let left = self.retry_time.saturating_sub(begun.elapsed());
            tokio::time::sleep(failed.after.unwrap_or(jittered).min(left)).await;
            pause = (pause * 2).min(LAST_PAUSE);
            try_idx += 1;
        }
    }

    /// Sends a request once, and follows redirects. What is answered may be any status but one of those that pass.
    pub(super) async fn send(
        &self,
        method: &Method,
        target: Target<'_>,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Response, Failed> {
        let mut url = self.url(target).map_err(Failed::of)?;
        let at = url.to_string();
        let origin = url.origin();
        let refused = |problem: String| Failed::of(Error::new(ErrorKind::Io, problem).at_uri(&at));
        let mut seen: Vec<Url> = Vec::new();
        loop {
            let mut request =
                self.client.request(method.clone(), url.clone()).header(ACCEPT_ENCODING, "identity");
            for (name, value) in headers {
                request = request.header(name, value);
            }
            if let Some(login) = self.address.login.as_ref().filter(|_| url.origin() == origin) {
                request = request.basic_auth(&login.name, login.password.as_ref());
            }
            let response = request.send().await.map_err(|error| broken(error, &at))?;
            let status = response.status();
            if is_passing(status) {
                let after =
                    response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
                return Err(Failed {
                    is_passing: true,
                    after: after.map(Duration::from_secs),
                    ..self.refusal(&response, &at)
                });
            }
            if !is_redirect(status) {
                return Ok(response);
            }
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            let Some(mut next) = next.filter(|next| matches!(next.scheme(), "http" | "https")) else {
                return Err(refused(format!(
                    "the server answered with status {status}, and says no address that could be asked instead"
                )));
            };
            // Logins of others are none of ours.
            let (_, _) = (next.set_username(""), next.set_password(None));
            next.set_fragment(None);
            if url.scheme() == "https" && next.scheme() == "http" {
                return Err(refused(
                    "the server leads away from https to http, which is not followed".to_owned(),
                ));
            }
            if matches!(target, Target::File(_)) && next.path().strip_suffix('/') == Some(url.path()) {
                return Err(missing(&at));
            }
            seen.push(url);
            if seen.contains(&next) {
                return Err(refused(
                    "the server leads in a circle: its redirects come back to where they were".to_owned(),
                ));
            }
            if seen.len() > MAX_REDIRECTS {
                return Err(refused(format!(
                    "the server leads on and on: more than {MAX_REDIRECTS} redirects"
                )));
            }
            url = next;
        }
    }

    /// The failure that a status means, other than those of success.
    pub(super) fn refusal(&self, response: &Response, at: &str) -> Failed {
        let status = response.status();
        let (kind, problem) = match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => return missing(at),
            StatusCode::UNAUTHORIZED => {
                let advice = match self.address.login {
                    None => "the server asks for a name and a password: http://NAME:PASSWORD@HOST/PATH",
                    Some(_) => "the server does not take the name and the password of the URI",
                };
                (ErrorKind::Permission, advice.to_owned())
            }
            StatusCode::FORBIDDEN => {
                (ErrorKind::Permission, "the server refused access (status 403)".to_owned())
            }
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => (
                ErrorKind::Permission,
                "the proxy asks for a name and a password; see network.proxy".to_owned(),
            ),
            status => (ErrorKind::Io, format!("the server answered with status {}", status.as_u16())),
        };
        Failed::of(Error::new(kind, problem).at_uri(at))
    }

    /// Refuses bodies that are not what the file has.
    pub(super) fn check_coding(&self, response: &Response, at: &str) -> Result<(), Failed> {
        match response.headers().get(CONTENT_ENCODING) {
            Some(coding) if coding != "identity" => Err(Failed::of(
                Error::new(
                    ErrorKind::Io,
                    "the server compresses files although it was asked not to; turn that off for arrays",
                )
                .at_uri(at),
            )),
            _ => Ok(()),
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// Nothing is there.
pub(super) fn missing(at: &str) -> Failed {
    Failed::of(Error::not_found("no such file").at_uri(at))
}

/// The failure of a connection, or of a body that broke off.
pub(super) fn broken(error: reqwest::Error, at: &str) -> Failed {
    // The address is said already, and the proxy's may have a password.
    let error = error.without_url();
    let problem = match () {
        () if error.is_connect() => "could not be reached; check the address, the network and the proxy",
        () if error.is_timeout() => {
            "did not answer in time; network.timeout and network.retry_time allow for more"
        }
        () => "broke off",
    };
    let error = Error::new(ErrorKind::Io, format!("the server {problem} ({})", innermost(&error))).at_uri(at);
    Failed { error, is_passing: true, after: None }
}

/// A body that ended before it should.
pub(super) fn cut_short(at: &str) -> Failed {
    let error = Error::new(ErrorKind::Io, "the server broke off before the end of its answer").at_uri(at);
    Failed { error, is_passing: true, after: None }
}

/// What `Content-Range` says (RFC 9110, section 14.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// The first byte, and the one behind the last; `None` where no range is satisfied.
    pub(super) bytes: Option<(u64, u64)>,
    /// The length of the whole file.
    pub(super) total: Option<u64>,
}

pub(super) fn content_range(response: &Response) -> Option<ContentRange> {
    parsed_range(response.headers().get(CONTENT_RANGE)?.to_str().ok()?)
}

fn parsed_range(text: &str) -> Option<ContentRange> {
    let (bytes, total) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    let bytes = match bytes.trim() {
        "*" => None,
        bytes => {
            let (first, last) = bytes.split_once('-')?;
            let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            let end =
                last.checked_add(1).filter(|&end| end > first && total.is_none_or(|total| end <= total))?;
            Some((first, end))
        }
    };
    Some(ContentRange { bytes, total })
}

/// What `Content-Length` says: reqwest tells the length of the body, which is another one for `HEAD`.
pub(super) fn content_length(response: &Response) -> Option<u64> {
    response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_and_impossible_ones_are_none() {
        let range = |bytes, total| Some(ContentRange { bytes, total });
        assert_eq!(parsed_range("bytes 0-9/10"), range(Some((0, 10)), Some(10)));
        assert_eq!(parsed_range("bytes 3-3/*"), range(Some((3, 4)), None));
        assert_eq!(parsed_range("bytes */0"), range(None, Some(0)));
        for bad in [
            "",
            "bytes",
            "bytes 0-9",
            "bytes 9-0/10",
            "bytes 0-10/10",
            "bytes -1/10",
            "bytes 0-18446744073709551615/*",
            "cells 0-1/2",
        ] {
            assert_eq!(parsed_range(bad), None, "{bad:?}");
        }
    }
}
