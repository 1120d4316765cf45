//! Clients of a bucket, which are made when the first request needs them, with the credentials that are found then, and made anew where an answer
//! says what was wrong with them: another region, or credentials that have ended.

use crate::connect::Connector;
use crate::settings::Settings;
use crate::who::Who;
use crate::whole_bucket::{Unfinished, WholeBucket};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    ClientOptions, CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartId,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RetryConfig,
};
use smalti_types::{Error, Result};
use std::fmt;
use std::sync::Arc;
use tokio::sync::Mutex;

/// How often one request may find out what is wrong: once about the region, once about credentials.
const MAX_MEND_COUNT: usize = 2;

/// What a client of a bucket can do.
pub(crate) trait Client: ObjectStore + PaginatedListStore + MultipartStore {}

impl<C: ObjectStore + PaginatedListStore + MultipartStore> Client for C {}

/// The clients of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct Clients {
    /// Sends requests again that failed for a while.
    pub(crate) patient: Arc<dyn Client>,
    /// Sends each request once.
    pub(crate) once: Arc<dyn Client>,
    /// Knows the bucket itself, and its uploads that are not finished where the store tells of them.
    pub(crate) whole: Option<Arc<dyn WholeBucket>>,
}

/// What makers have of the context, whatever store they are for.
#[cfg_attr(
    not(any(feature = "s3", feature = "gcs", feature = "azure")),
    expect(dead_code, reason = "there are no buckets in this build")
)]
pub(crate) struct Common {
    pub(crate) settings: Settings,
    pub(crate) connector: Connector,
    pub(crate) options: ClientOptions,
    pub(crate) retries: RetryConfig,
    pub(crate) no_retries: RetryConfig,
    /// Is told whose credentials were found.
    pub(crate) who: Who,
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
impl Common {
    /// The clients that are built so, and what knows the uploads of one of them.
    ///
    /// # Errors
    /// What building them reports.
    pub(crate) fn clients<C: Client>(
        &self,
        build: impl Fn(RetryConfig) -> object_store::Result<C>,
        whole: impl FnOnce(&Arc<C>) -> Option<Arc<dyn WholeBucket>>,
    ) -> object_store::Result<Clients> {
        let (patient, once) = (Arc::new(build(self.retries.clone())?), build(self.no_retries.clone())?);
        Ok(Clients { whole: whole(&patient), patient, once: Arc::new(once) })
    }
}

/// Makes the clients of a bucket.
#[async_trait]
pub(crate) trait Maker: fmt::Debug + Send + Sync + 'static {
    /// The clients, with what is known now.
    ///
    /// # Errors
    /// What is wrong with credentials.
    async fn make(&self) -> Result<Clients>;

    /// Whether clients that are made now may do what these failed to do.
    async fn mend(&self, _failed: &StoreError) -> bool {
        false
    }
}

/// Clients that are made when they are needed.
#[derive(Clone)]
pub(crate) struct Remade {
    shared: Arc<Shared>,
    sends_once: bool,
}

struct Shared {
    maker: Box<dyn Maker>,
    made: Mutex<Option<Made>>,
}

#[derive(Clone)]
struct Made {
    clients: Clients,
    /// How many were made before.
    generation: u64,
}

/// Both faces of a bucket: the one that sends requests again, and the one that sends each once.
pub(crate) fn remade(maker: Box<dyn Maker>) -> Clients {
    let shared = Arc::new(Shared { maker, made: Mutex::default() });
    let face = |sends_once| Arc::new(Remade { shared: Arc::clone(&shared), sends_once });
    Clients { patient: face(false), once: face(true), whole: Some(face(false)) }
}

/// An error of smalti on its way through `object_store`: one of those that nobody takes for something that may have happened.
pub(crate) fn carried(error: Error) -> StoreError {
    StoreError::Unauthenticated { path: String::new(), source: Box::new(error) }
}

impl Shared {
    async fn made(&self) -> object_store::Result<Made> {
        let mut made = self.made.lock().await;
        match &*made {
            Some(made) => Ok(made.clone()),
            None => {
                let clients = self.maker.make().await.map_err(carried)?;
                Ok(made.insert(Made { clients, generation: 0 }).clone())
            }
        }
    }

    /// Whether clients were made anew since, or are now.
    async fn mend(&self, generation: u64, failed: &StoreError) -> bool {
        let mut made = self.made.lock().await;
        if made.as_ref().is_some_and(|made| made.generation != generation) {
            return true;
        }
        if !self.maker.mend(failed).await {
            return false;
        }
        match self.maker.make().await {
            Ok(clients) => {
                *made = Some(Made { clients, generation: generation + 1 });
                true
            }
            // The first error tells more.
            Err(_) => false,
        }
    }
}

impl Remade {
    fn of(&self, made: &Made) -> Arc<dyn Client> {
        Arc::clone(if self.sends_once { &made.clients.once } else { &made.clients.patient })
    }

    /// Whether a request is worth another try with clients that were made anew; counts what was mended for it.
    async fn mends(&self, mend_count: &mut usize, made: &Made, failed: &StoreError) -> bool {
        // What is there or not, nobody's credentials change.
        let is_answer = matches!(
            failed,
            StoreError::NotFound { .. }
                | StoreError::AlreadyExists { .. }
                | StoreError::Precondition { .. }
                | StoreError::NotModified { .. }
        );
        if is_answer {
            return false;
        }
        *mend_count += 1;
        *mend_count <= MAX_MEND_COUNT && self.shared.mend(made.generation, failed).await
    }

    /// As `ask!` for streams: only what their first item says can be mended.
    fn ask_all<T: Send + 'static>(
        &self,
        asked: impl Fn(&dyn ObjectStore) -> BoxStream<'static, object_store::Result<T>> + Send + 'static,
    ) -> BoxStream<'static, object_store::Result<T>> {
        let this = self.clone();
        async move {
            let mut mend_count = 0;
            loop {
                let made = this.shared.made().await?;
                let mut found = asked(this.of(&made).as_ref()).fuse();
                let first = found.next().await;
                if let Some(Err(failed)) = &first
                    && this.mends(&mut mend_count, &made, failed).await
                {
                    continue;
                }
                return Ok::<_, StoreError>(stream::iter(first).chain(found));
            }
        }
        .into_stream()
        .try_flatten()
        .boxed()
    }
}

/// Does what is asked, and again where clients that were made anew may do it.
macro_rules! ask {
    ($this:ident, $client:ident => $request:expr) => {{
        let mut mend_count = 0;
        loop {
            let made = $this.shared.made().await?;
            let $client = $this.of(&made);
            let answer = $request.await;
            if let Err(failed) = &answer
                && $this.mends(&mut mend_count, &made, failed).await
            {
                continue;
            }
            return answer;
        }
    }};
}

#[async_trait]
impl ObjectStore for Remade {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        ask!(self, client => client.put_opts(location, payload.clone(), options.clone()))
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        ask!(self, client => client.put_multipart_opts(location, options.clone()))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        ask!(self, client => client.get_opts(location, options.clone()))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        let this = self.clone();
        async move {
            // They may have to be said twice.
            let locations: Vec<Path> = locations.try_collect().await?;
            Ok::<_, StoreError>(
                this.ask_all(move |client| {
                    client.delete_stream(stream::iter(locations.clone()).map(Ok).boxed())
                }),
            )
        }
        .into_stream()
        .try_flatten()
        .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        let prefix = prefix.cloned();
        self.ask_all(move |client| client.list(prefix.as_ref()))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        let (prefix, offset) = (prefix.cloned(), offset.clone());
        self.ask_all(move |client| client.list_with_offset(prefix.as_ref(), &offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        ask!(self, client => client.list_with_delimiter(prefix))
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        ask!(self, client => client.copy_opts(from, to, options.clone()))
    }
}

#[async_trait]
impl PaginatedListStore for Remade {
    async fn list_paginated(
        &self,
        prefix: Option<&str>,
        options: PaginatedListOptions,
    ) -> object_store::Result<PaginatedListResult> {
        ask!(self, client => client.list_paginated(prefix, options.clone()))
    }
}

/// Parts of an upload may be sent by different clients: it goes on when credentials have ended in its middle.
#[async_trait]
impl MultipartStore for Remade {
    async fn create_multipart(&self, path: &Path) -> object_store::Result<MultipartId> {
        ask!(self, client => client.create_multipart(path))
    }

    async fn put_part(
        &self,
        path: &Path,
        id: &MultipartId,
        part_idx: usize,
        data: PutPayload,
    ) -> object_store::Result<PartId> {
        ask!(self, client => client.put_part(path, id, part_idx, data.clone()))
    }

    async fn complete_multipart(
        &self,
        path: &Path,
        id: &MultipartId,
        parts: Vec<PartId>,
    ) -> object_store::Result<PutResult> {
        ask!(self, client => client.complete_multipart(path, id, parts.clone()))
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> object_store::Result<()> {
        ask!(self, client => client.abort_multipart(path, id))
    }
}

/// Web servers have none.
const NO_BUCKETS: &str = "the store has no buckets";

#[async_trait]
impl WholeBucket for Remade {
    async fn unfinished(&self, prefix: &str) -> object_store::Result<Vec<Unfinished>> {
        let mut mend_count = 0;
        loop {
            let made = self.shared.made().await?;
            let Some(uploads) = &made.clients.whole else { return Ok(Vec::new()) };
            let answer = uploads.unfinished(prefix).await;
            if let Err(failed) = &answer
                && self.mends(&mut mend_count, &made, failed).await
            {
                continue;
            }
            return answer;
        }
    }

    async fn abort(&self, key: &Path, id: &str) -> object_store::Result<()> {
        let made = self.shared.made().await?;
        match &made.clients.whole {
            Some(uploads) => uploads.abort(key, id).await,
            None => Err(StoreError::NotSupported { source: "the store has no uploads to give up".into() }),
        }
    }

    async fn create_bucket(&self) -> object_store::Result<()> {
        match &self.shared.made().await?.clients.whole {
            Some(uploads) => uploads.create_bucket().await,
            None => Err(StoreError::NotSupported { source: NO_BUCKETS.into() }),
        }
    }

    async fn remove_bucket(&self) -> object_store::Result<()> {
        match &self.shared.made().await?.clients.whole {
            Some(uploads) => uploads.remove_bucket().await,
            None => Err(StoreError::NotSupported { source: NO_BUCKETS.into() }),
        }
    }
}

impl fmt::Debug for Remade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remade({:?})", self.shared.maker)
    }
}

impl fmt::Display for Remade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
