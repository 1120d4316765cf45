//! Lengths and bytes of files, from servers that do ranges (RFC 9110, section 14) and from those that do not.
//!
//! What a server does is learnt from its answers. One that does no ranges sends the whole file for each part of it: what is in front of the part
//! is let go as it comes, and what is behind it is not waited for. Nothing is allocated beyond what was asked for.

use super::server::{Failed, Server, Target, broken, content_length, content_range, cut_short, missing};
use crate::reading::short;
use bytes::Bytes;
use reqwest::header::{ACCEPT_RANGES, HeaderValue, RANGE};
use reqwest::{Method, Response, StatusCode};
use smalti_store::{ByteRange, Tail};
use smalti_types::{Error, ErrorKind, Result};

/// How much is received for nothing from a server that does no ranges.
pub(super) const MAX_WASTE_BYTE_LEN: u64 = 64 << 20;

/// What came of a question for a length.
enum Length {
    Known(u64),
    Missing,
    /// The server does not say it this way.
    Untold,
}

/// What came of a question for the end of a file.
enum End {
    Tail(Tail),
    /// The server gives no ends without the length.
    Refused,
}

impl Server {
    /// The length of a file; `None` where there is none.
    pub(super) async fn byte_len(&self, path: &str) -> Result<Option<u64>> {
        if !self.heads.is_known(false) {
            match self.tried(|| self.head(path)).await? {
                Length::Known(byte_len) => return Ok(Some(byte_len)),
                Length::Missing => return Ok(None),
                Length::Untold => {}
            }
        }
        match self.tried(|| self.first_byte(path)).await? {
            Length::Known(byte_len) => {
                self.heads.learn(false);
                Ok(Some(byte_len))
            }
            Length::Missing => Ok(None),
            Length::Untold => {
                Err(Error::new(ErrorKind::Io, "the server does not tell how long its files are")
                    .at_uri(self.address_of(path)))
            }
        }
    }

    async fn head(&self, path: &str) -> Result<Length, Failed> {
        let response = match self.send(&Method::HEAD, Target::File(path), &[]).await {
            Ok(response) => response,
            Err(failed) if failed.error.kind() == ErrorKind::NotFound => return Ok(Length::Missing),
            Err(failed) => return Err(failed),
        };
        let at = self.address_of(path);
        Ok(match response.status().as_u16() {
            200 => {
                self.check_coding(&response, &at)?;
                content_length(&response).map_or(Length::Untold, Length::Known)
            }
            404 | 410 => Length::Missing,
            // Some give files, and refuse this.
            400 | 403 | 405 | 501 => Length::Untold,
            _ => return Err(self.refusal(&response, &at)),
        })
    }

    /// The length as it is told with the first byte.
    async fn first_byte(&self, path: &str) -> Result<Length, Failed> {
        let at = self.address_of(path);
        let first = HeaderValue::from_static("bytes=0-0");
        let sent = self.send(&Method::GET, Target::File(path), &[(RANGE, first)]).await;
        let mut response = match sent {
            Ok(response) => response,
            Err(failed) if failed.error.kind() == ErrorKind::NotFound => return Ok(Length::Missing),
            Err(failed) => return Err(failed),
        };
        let told = content_range(&response).and_then(|range| range.total);
        match response.status() {
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                Ok(told.map_or(Length::Untold, Length::Known))
            }
            StatusCode::OK => {
                self.check_coding(&response, &at)?;
                if let Some(byte_len) = content_length(&response) {
                    return Ok(Length::Known(byte_len));
                }
                let mut byte_len = 0_u64;
                while let Some(chunk) = response.chunk().await.map_err(|error| broken(error, &at))? {
                    byte_len = byte_len.saturating_add(chunk.len() as u64);
                    if byte_len > MAX_WASTE_BYTE_LEN {
                        return Ok(Length::Untold);
                    }
                }
                Ok(Length::Known(byte_len))
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(Length::Missing),
            _ => Err(self.refusal(&response, &at)),
        }
    }

    /// Bytes of a file.
    pub(super) async fn range(&self, path: &str, range: ByteRange) -> Result<Bytes> {
        if range.byte_len == 0 {
            return Ok(Bytes::new());
        }
        self.tried(|| self.range_once(path, range)).await
    }

    async fn range_once(&self, path: &str, range: ByteRange) -> Result<Bytes, Failed> {
        let at = self.address_of(path);
        let ends_early = |byte_len| Failed::of(short(range, byte_len).at_uri(&at));
        let asked = header(&format!("bytes={}-{}", range.start, range.end() - 1))?;
        let response = self.send(&Method::GET, Target::File(path), &[(RANGE, asked)]).await?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                self.check_coding(&response, &at)?;
                self.ranges.learn(true);
                let told = content_range(&response).and_then(|told| Some((told.bytes?, told.total)));
                let Some(((start, end), total)) =
                    told.filter(|((start, end), _)| *start == range.start && *end <= range.end())
                else {
                    return Err(Failed::of(other_range(&at)));
                };
                if end < range.end() {
                    return Err(ends_early(total.unwrap_or(end)));
                }
                exactly(response, 0, end - start, &at).await
            }
            StatusCode::OK => {
                self.check_coding(&response, &at)?;
                self.learn_from_whole(&response);
                let total = content_length(&response);
                if let Some(total) = total.filter(|&total| total < range.end()) {
                    return Err(ends_early(total));
                }
                if range.start > MAX_WASTE_BYTE_LEN {
                    return Err(Failed::of(no_ranges(&at)));
                }
                match exactly(response, range.start, range.byte_len, &at).await {
                    // Nobody has said how long it is.
                    Err(_) if total.is_none() => Err(ends_early(0)),
                    read => read,
                }
            }
            StatusCode::RANGE_NOT_SATISFIABLE => match content_range(&response).and_then(|told| told.total) {
                Some(total) if total < range.end() => Err(ends_early(total)),
                Some(_) => Err(Failed::of(other_range(&at))),
                None => match self.byte_len(path).await {
                    Ok(Some(total)) => Err(ends_early(total)),
                    Ok(None) => Err(missing(&at)),
                    Err(error) => Err(Failed::of(error)),
                },
            },
            _ => Err(self.refusal(&response, &at)),
        }
    }

    /// The end of a file.
    pub(super) async fn tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        // A server without ranges sends everything however it is asked.
        let is_asked_alone = byte_len > 0 && (!self.suffixes.is_known(false) || self.ranges.is_known(false));
        if is_asked_alone && let End::Tail(tail) = self.tried(|| self.tail_once(path, byte_len)).await? {
            return Ok(tail);
        }
        let file_byte_len = self.byte_len(path).await?;
        let file_byte_len = file_byte_len.ok_or_else(|| missing(&self.address_of(path)).error)?;
        let byte_len = byte_len.min(file_byte_len);
        let bytes = self.range(path, ByteRange { start: file_byte_len - byte_len, byte_len }).await?;
        Ok(Tail { file_byte_len, bytes })
    }

    async fn tail_once(&self, path: &str, byte_len: u64) -> Result<End, Failed> {
        let at = self.address_of(path);
        let asked = header(&format!("bytes=-{byte_len}"))?;
        let response = self.send(&Method::GET, Target::File(path), &[(RANGE, asked)]).await?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                self.check_coding(&response, &at)?;
                self.ranges.learn(true);
                let told = content_range(&response).and_then(|told| Some((told.bytes?, told.total?)));
                let Some(((start, end), total)) = told else {
                    self.suffixes.learn(false);
                    return Ok(End::Refused);
                };
                if end != total || start != total.saturating_sub(byte_len) {
                    return Err(Failed::of(other_range(&at)));
                }
                self.suffixes.learn(true);
                let bytes = exactly(response, 0, total - start, &at).await?;
                Ok(End::Tail(Tail { file_byte_len: total, bytes }))
            }
            StatusCode::OK => {
                self.check_coding(&response, &at)?;
                self.learn_from_whole(&response);
                let Some(total) = content_length(&response) else {
                    return last_of(response, byte_len, &at).await.map(End::Tail);
                };
                let start = total.saturating_sub(byte_len);
                if start > MAX_WASTE_BYTE_LEN {
                    return match self.ranges.is_known(false) {
                        true => Err(Failed::of(no_ranges(&at))),
                        false => Ok(End::Refused),
                    };
                }
                let bytes = exactly(response, start, total - start, &at).await?;
                Ok(End::Tail(Tail { file_byte_len: total, bytes }))
            }
            StatusCode::RANGE_NOT_SATISFIABLE => match content_range(&response).and_then(|told| told.total) {
                // An empty file has no range at all.
                Some(0) => Ok(End::Tail(Tail { file_byte_len: 0, bytes: Bytes::new() })),
                told => {
                    // It may do so for empty files alone, but then it says so.
                    if told.is_some() {
                        self.suffixes.learn(false);
                    }
                    Ok(End::Refused)
                }
            },
            StatusCode::BAD_REQUEST | StatusCode::NOT_IMPLEMENTED => {
                self.suffixes.learn(false);
                Ok(End::Refused)
            }
            _ => Err(self.refusal(&response, &at)),
        }
    }

    /// What it means that a server sends a file as a whole although a part was asked for.
    fn learn_from_whole(&self, response: &Response) {
        let says_ranges = response.headers().get(ACCEPT_RANGES).is_some_and(|ranges| ranges == "bytes");
        self.suffixes.learn(false);
        // One that does them, but not this one, goes on being asked for others.
        if !says_ranges && !self.ranges.is_known(true) {
            self.ranges.learn(false);
        }
    }
}

fn header(text: &str) -> Result<HeaderValue, Failed> {
    HeaderValue::try_from(text).map_err(|error| Failed::of(Error::invalid(error.to_string())))
}

fn other_range(at: &str) -> Error {
    Error::new(ErrorKind::Io, "the server sent another part of the file than it was asked for").at_uri(at)
}

fn no_ranges(at: &str) -> Error {
    Error::unsupported(
        "the server gives files as a whole only, and this one is too long for that; put one in front of the array that does ranges, such \
         as nginx, Apache or Caddy",
    )
    .at_uri(at)
}

/// Room for what is to come, no more than a little at first: what is announced may never come.
fn room(byte_len: u64) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    more_room(&mut bytes, usize::try_from(byte_len.min(1 << 20)).unwrap_or(usize::MAX))?;
    Ok(bytes)
}

fn more_room(bytes: &mut Vec<u8>, byte_len: usize) -> Result<(), Failed> {
    bytes.try_reserve(byte_len).map_err(|_| {
        let problem = format!("no memory for {byte_len} more bytes of a file");
        Failed::of(Error::new(ErrorKind::OutOfMemory, problem))
    })
}

/// So many bytes of a body, behind so many that are let go. What follows is not waited for.
pub(super) async fn exactly(
    mut response: Response,
    skipped: u64,
    byte_len: u64,
    at: &str,
) -> Result<Bytes, Failed> {
    let mut bytes = room(byte_len)?;
    let (mut to_skip, mut missing) = (skipped, byte_len);
    while missing > 0 {
        let Some(chunk) = response.chunk().await.map_err(|error| broken(error, at))? else {
            return Err(cut_short(at));
        };
        let skipped = usize::try_from(to_skip).unwrap_or(usize::MAX).min(chunk.len());
        to_skip -= skipped as u64;
        let rest = chunk.get(skipped..).unwrap_or_default();
        let wanted = usize::try_from(missing).unwrap_or(usize::MAX).min(rest.len());
        let part = rest.get(..wanted).unwrap_or_default();
        more_room(&mut bytes, part.len())?;
        bytes.extend_from_slice(part);
        missing -= part.len() as u64;
    }
    // What is not read to its end cannot be used for the next request.
    if skipped + byte_len == content_length(&response).unwrap_or(byte_len) {
        let _ = response.chunk().await;
    }
    Ok(Bytes::from(bytes))
}

/// A whole body of at most so many bytes; `None` for a longer one.
pub(super) async fn whole(
    mut response: Response,
    max_byte_len: u64,
    at: &str,
) -> Result<Option<Vec<u8>>, Failed> {
    let mut bytes = room(content_length(&response).unwrap_or(0).min(max_byte_len))?;
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(error, at))? {
        if bytes.len() as u64 + chunk.len() as u64 > max_byte_len {
            return Ok(None);
        }
        more_room(&mut bytes, chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// The end of a body of which nobody said how long it is.
async fn last_of(mut response: Response, byte_len: u64, at: &str) -> Result<Tail, Failed> {
    let kept = usize::try_from(byte_len).unwrap_or(usize::MAX);
    let (mut bytes, mut file_byte_len) = (room(0)?, 0_u64);
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(error, at))? {
        file_byte_len += chunk.len() as u64;
        if file_byte_len.saturating_sub(byte_len) > MAX_WASTE_BYTE_LEN {
            return Err(Failed::of(no_ranges(at)));
        }
        more_room(&mut bytes, chunk.len())?;
        bytes.extend_from_slice(&chunk);
        // Moved now and then, not with every chunk.
        if bytes.len() / 2 > kept {
            bytes.drain(..bytes.len() - kept);
        }
    }
    bytes.drain(..bytes.len().saturating_sub(kept));
    Ok(Tail { file_byte_len, bytes: Bytes::from(bytes) })
}
