//! What is in folders: by a manifest beside the array, or by the server's own listings.
//!
//! HTTP knows no folders. Which files an array has is told by its [manifest](FileList), which counts if there is one; otherwise by the pages that
//! servers make of folders. At first both are asked for at once, so that neither costs a round; then whichever it was.
//! A manifest is asked for again with every listing, if the server can say that it has not changed, without its content.

use super::files::whole;
use super::handle::Files;
use super::server;
use super::server::{Failed, Target};
use super::sources::{Manifest, Source, below};
use crate::page::{self, Listed};
use futures_util::future::{BoxFuture, FutureExt as _, Shared, join as both};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use reqwest::{Method, Response, StatusCode};
use smalti_store::{Entry, EntryKind, FileList, LEFTOVER_PREFIX, MANIFEST_FILE, join};
use smalti_types::{Error, ErrorKind, Result};
use std::sync::Arc;

/// The listing of a folder.
#[derive(Debug, Clone)]
enum Page {
    Listed(Arc<Vec<Listed>>),
    /// The server does not list it: the status.
    Refused(u16),
}

/// What several listings of one array ask for once.
#[derive(Clone)]
pub(super) struct Look {
    /// The array's folder, or one above it that has a manifest for both.
    root: String,
    manifest: Shared<BoxFuture<'static, Result<Option<Arc<Manifest>>>>>,
    page: Shared<BoxFuture<'static, Result<Page>>>,
}

impl Files {
    /// What listings of one array share.
    pub(super) fn look(&self, folder: &str) -> Look {
        let root = self.0.folders.root_of(folder);
        let (files, of) = (self.clone(), root.clone());
        let manifest = async move { files.manifest(&of).await }.boxed().shared();
        let (files, of) = (self.clone(), root.clone());
        let page = async move { files.page(&of).await }.boxed().shared();
        Look { root, manifest, page }
    }

    /// What is directly in a folder, sorted; lengths that the listing does not tell are unknown.
    pub(super) async fn listed(&self, folder: &str, look: Look) -> Result<Vec<Entry>> {
        let folders = &self.0.folders;
        let entries = |manifest: &Manifest| manifest.list.entries(below(folder, &look.root));
        match folders.source(&look.root) {
            Some(Source::Manifest(_)) => {
                if let Some(manifest) = look.manifest.clone().await? {
                    return Ok(entries(&manifest));
                }
            }
            Some(Source::Pages) => {}
            None => {
                let (manifest, paged) = both(look.manifest.clone(), self.paged(folder, &look)).await;
                if let Some(manifest) = manifest? {
                    return Ok(entries(&manifest));
                }
                folders.learn(&look.root, paged.as_ref().ok().map(|_| Source::Pages));
                return paged;
            }
        }
        self.paged(folder, &look).await
    }

    /// All files below a folder, if there is a manifest.
    pub(super) async fn listed_below(&self, folder: &str) -> Result<Option<Vec<Entry>>> {
        let look = self.look(folder);
        if let Some(Source::Pages) = self.0.folders.source(&look.root) {
            return Ok(None);
        }
        let manifest = look.manifest.clone().await?;
        Ok(manifest.map(|manifest| manifest.list.entries_below(below(folder, &look.root))))
    }

    async fn paged(&self, folder: &str, look: &Look) -> Result<Vec<Entry>> {
        let is_root = folder == look.root;
        let page = match is_root {
            true => look.page.clone().await?,
            false => self.page(folder).await?,
        };
        let status = match page {
            Page::Listed(listed) => {
                let folders = &self.0.folders;
                if is_root
                    && matches!(folders.source(&look.root), Some(Source::Pages))
                    && listed.iter().any(|entry| entry.name == MANIFEST_FILE)
                {
                    // It was written since, and counts from the next listing on. Where it is asked for at the same time, what it said stays known.
                    folders.learn(&look.root, None);
                }
                return Ok(listed.iter().filter_map(entry).collect());
            }
            Page::Refused(status) => status,
        };
        // A folder that is not there is empty, where those are listed that are there.
        if !is_root && matches!(status, 404 | 410) {
            let is_listing = matches!(self.0.folders.source(&look.root), Some(Source::Pages))
                || matches!(look.page.clone().await?, Page::Listed(_));
            if is_listing {
                return Ok(Vec::new());
            }
        }
        let kind = match status {
            404 | 410 => ErrorKind::NotFound,
            _ => ErrorKind::Permission,
        };
        Err(Error::new(
            kind,
            format!(
                "the server does not list this folder (status {status}), and there is no manifest in it: check the address; where a server \
                 gives no listings, `smalti manifest ARRAY` writes a manifest beside the array"
            ),
        )
        .at_uri(self.0.server.address_of(&look.root)))
    }

    /// The manifest of an array or group; `None` where there is none.
    async fn manifest(&self, root: &str) -> Result<Option<Arc<Manifest>>> {
        let path = join(root, MANIFEST_FILE);
        let known = self.0.folders.manifest(root);
        let found = self.0.server.tried(|| self.manifest_once(&path, known.as_ref())).await?;
        if found.is_some() || known.is_some() {
            self.0.folders.learn(root, found.clone().map(Source::Manifest));
        }
        Ok(found)
    }

    async fn manifest_once(
        &self,
        path: &str,
        known: Option<&Arc<Manifest>>,
    ) -> Result<Option<Arc<Manifest>>, Failed> {
        let server = &self.0.server;
        let at = server.address_of(path);
        let unless = known.and_then(|known| known.unless.clone());
        let sent = server.send(&Method::GET, Target::File(path), unless.as_slice()).await;
        let response = match sent {
            Ok(response) => response,
            Err(failed) if failed.error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(failed) => return Err(failed),
        };
        match response.status() {
            StatusCode::NOT_MODIFIED => return Ok(known.cloned()),
            // Some say this of files that are not there.
            StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::FORBIDDEN => return Ok(None),
            StatusCode::OK => {}
            _ => return Err(server.refusal(&response, &at)),
        }
        // Some servers have a page for every address.
        if is_of_type(&response, "text/html") {
            return Ok(None);
        }
        server.check_coding(&response, &at)?;
        let validator = |name, of: HeaderName| Some((of, response.headers().get(name)?.clone()));
        let unless = validator(ETAG, IF_NONE_MATCH).or_else(|| validator(LAST_MODIFIED, IF_MODIFIED_SINCE));
        let Some(bytes) = whole(response, FileList::MAX_BYTE_LEN, &at).await? else {
            return Err(Failed::of(Error::unsupported("the manifest is too long").at_uri(&at)));
        };
        let list = FileList::decode(&bytes).map_err(|error| Failed::of(error.at_uri(&at)))?;
        Ok(Some(Arc::new(Manifest { list, unless })))
    }

    async fn page(&self, folder: &str) -> Result<Page> {
        self.0.server.tried(|| self.page_once(folder)).await
    }

    async fn page_once(&self, folder: &str) -> Result<Page, Failed> {
        let server = &self.0.server;
        let at = server.address_of(folder);
        let accepted = HeaderValue::from_static("application/json, text/html;q=0.9");
        let response = server.send(&Method::GET, Target::Folder(folder), &[(ACCEPT, accepted)]).await?;
        match response.status() {
            StatusCode::OK => {}
            status @ (StatusCode::NOT_FOUND
            | StatusCode::GONE
            | StatusCode::FORBIDDEN
            | StatusCode::METHOD_NOT_ALLOWED) => {
                return Ok(Page::Refused(status.as_u16()));
            }
            _ => return Err(server.refusal(&response, &at)),
        }
        server.check_coding(&response, &at)?;
        let is_json = is_of_type(&response, "application/json");
        // Where redirects have led to: what links count from.
        let path =
            response.url().path().split('/').map(smalti_store::percent_decoded).collect::<Result<Vec<_>>>();
        let path = path.map(|parts| parts.join("/")).unwrap_or_default();
        let Some(bytes) = whole(response, page::MAX_BYTE_LEN, &at).await? else {
            return Err(Failed::of(Error::unsupported("the listing is too long").at_uri(&at)));
        };
        let listed = if is_json { page::of_json(&bytes) } else { page::of_html(&bytes, &path) };
        listed.map(|listed| Page::Listed(Arc::new(listed))).map_err(|error| Failed::of(error.at_uri(&at)))
    }

    /// The lengths of those files of a listing that it does not tell, asked for side by side. Files that have gone since are left out.
    pub(super) fn with_lengths(&self, folder: &str, mut entries: Vec<Entry>) -> Result<Vec<Entry>> {
        let is_unknown = |entry: &Entry| entry.byte_len == Entry::UNKNOWN_BYTE_LEN;
        let asked = entries.iter().filter(|entry| is_unknown(entry)).map(|entry| {
            let (files, path) = (self.clone(), join(folder, &entry.name));
            async move { files.0.server.byte_len(&path).await }
        });
        let mut lengths = self.0.io.wait_all(asked).into_iter();
        for entry in entries.iter_mut().filter(|entry| is_unknown(entry)) {
            if let Some(byte_len) = lengths.next().transpose()?.flatten() {
                entry.byte_len = byte_len;
            }
        }
        entries.retain(|entry| !is_unknown(entry));
        Ok(entries)
    }
}

fn is_of_type(response: &Response, kind: &str) -> bool {
    let told = response.headers().get(CONTENT_TYPE).and_then(|told| told.to_str().ok()).unwrap_or_default();
    told.split(';').next().is_some_and(|told| told.trim().eq_ignore_ascii_case(kind))
}

fn entry(listed: &Listed) -> Option<Entry> {
    if listed.name.starts_with(LEFTOVER_PREFIX) {
        return None;
    }
    let (kind, byte_len) = match listed.is_folder {
        true => (EntryKind::Folder, 0),
        false => (EntryKind::File, listed.byte_len.unwrap_or(Entry::UNKNOWN_BYTE_LEN)),
    };
    Some(Entry { name: listed.name.clone(), kind, byte_len })
}

impl std::fmt::Debug for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Look({:?})", self.root)
    }
}

/// The error of a file that is missing.
pub(super) fn missing(files: &Files, path: &str) -> Error {
    let address = files.0.server.address_of(path);
    let out_of_date = files.0.folders.out_of_date(path, address.clone());
    out_of_date.unwrap_or_else(|| server::missing(&address).error)
}
