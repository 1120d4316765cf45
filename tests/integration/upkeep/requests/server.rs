//! A server of S3 over the bucket of the simulations: what a client may rely on of the protocol, and no more. Conditions hold whatever else happens, lists come
//! in short pages whose content has no order, and uploads in parts are there until they are completed or given up.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CommonPrefix, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource,
    CreateMultipartUploadInput, CreateMultipartUploadOutput, DeleteObjectInput, DeleteObjectOutput,
    DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag, GetObjectInput, GetObjectOutput,
    HeadObjectInput, HeadObjectOutput, ListMultipartUploadsInput, ListMultipartUploadsOutput,
    ListObjectsV2Input, ListObjectsV2Output, Metadata, MultipartUpload, Object, PutObjectInput,
    PutObjectOutput, StreamingBlob, Timestamp, UploadPartInput, UploadPartOutput,
};
use s3s::{Body, S3, S3Request, S3Response, S3Result, s3_error};
use smalti_store::{BucketImage, BucketStep, BucketStore};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

/// Entries of a page of a list.
const PAGE_LEN: usize = 3;

/// A bucket that is served. Clones are the same.
#[derive(Clone)]
pub struct Served {
    pub bucket: BucketStore,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    uploads: BTreeMap<(String, String), Parts>,
    upload_count: u64,
    /// What was put beside the content of objects.
    metadata: BTreeMap<String, Metadata>,
    /// Lists are as they were so many steps ago.
    age: usize,
}

#[derive(Default)]
struct Parts {
    begun_ms: u64,
    by_number: BTreeMap<i32, Bytes>,
}

impl Served {
    pub fn new(bucket: BucketStore) -> Served {
        Served { bucket, state: Arc::default() }
    }

    /// The keys of uploads that are not finished.
    pub fn uploads(&self) -> Vec<String> {
        self.lock().uploads.keys().map(|(key, _)| key.clone()).collect()
    }

    /// From now on lists are as they were so many steps ago.
    pub fn list_as_of(&self, age: usize) {
        self.lock().age = age;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn put(&self, state: &mut State, path: String, bytes: Bytes, metadata: Option<Metadata>) {
        match metadata {
            Some(metadata) => drop(state.metadata.insert(path.clone(), metadata)),
            None => drop(state.metadata.remove(&path)),
        }
        self.bucket.perform(BucketStep::Put { path, bytes });
    }

    fn delete(&self, path: String) {
        if self.bucket.image().object(&path).is_some() {
            self.bucket.perform(BucketStep::Delete { path });
        }
    }

    fn found(&self, key: &str) -> S3Result<(Bytes, u64)> {
        let image = self.bucket.image();
        let found = image.object(key).map(|(bytes, at)| (bytes.clone(), at));
        found.ok_or_else(|| s3_error!(NoSuchKey))
    }

    fn check_absent(&self, key: &str) -> S3Result<()> {
        match self.bucket.image().object(key) {
            Some(_) => Err(s3_error!(PreconditionFailed)),
            None => Ok(()),
        }
    }
}

fn tag(bytes: &[u8]) -> ETag {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    ETag::Strong(format!("{:016x}", hasher.finish()))
}

/// Stores tell times in whole seconds.
fn time(ms: u64) -> Timestamp {
    Timestamp::from(SystemTime::UNIX_EPOCH + Duration::from_secs(ms / 1000))
}

async fn content(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let Some(body) = body else { return Ok(Bytes::new()) };
    let collected = Body::from(body).collect().await;
    Ok(collected.map_err(|_| s3_error!(IncompleteBody))?.to_bytes())
}

/// What is in a folder at one level, by key; `None` for a folder below.
fn level(image: &BucketImage, prefix: &str, delimiter: Option<&str>) -> BTreeMap<String, Option<(u64, u64)>> {
    let mut entries = BTreeMap::new();
    for (path, bytes, at) in image.objects_with_prefix(prefix) {
        let below = delimiter.and_then(|delimiter| path[prefix.len()..].split_once(delimiter));
        let (key, found) = match (below, delimiter) {
            (Some((name, _)), Some(delimiter)) => (format!("{prefix}{name}{delimiter}"), None),
            _ => (path.to_owned(), Some((bytes.len() as u64, at))),
        };
        entries.insert(key, found);
    }
    entries
}

#[async_trait::async_trait]
impl S3 for Served {
    async fn put_object(&self, req: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = req.input;
        let bytes = content(input.body).await?;
        let mut state = self.lock();
        if input.if_none_match.is_some() {
            self.check_absent(&input.key)?;
        }
        let e_tag = Some(tag(&bytes));
        self.put(&mut state, input.key, bytes, input.metadata);
        Ok(S3Response::new(PutObjectOutput { e_tag, ..Default::default() }))
    }

    async fn get_object(&self, req: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let state = self.lock();
        let (bytes, at) = self.found(&req.input.key)?;
        let byte_len = bytes.len() as u64;
        let mut output = GetObjectOutput {
            e_tag: Some(tag(&bytes)),
            last_modified: Some(time(at)),
            metadata: state.metadata.get(&req.input.key).cloned(),
            ..Default::default()
        };
        let bytes = match req.input.range {
            Some(range) => {
                let range = range.check(byte_len)?;
                output.content_range = Some(format!("bytes {}-{}/{byte_len}", range.start, range.end - 1));
                bytes.slice(range.start as usize..range.end as usize)
            }
            None => bytes,
        };
        output.content_length = Some(bytes.len() as i64);
        output.body = Some(StreamingBlob::from(Body::from(bytes)));
        Ok(S3Response::new(output))
    }

    async fn head_object(&self, req: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let state = self.lock();
        let (bytes, at) = self.found(&req.input.key)?;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: Some(bytes.len() as i64),
            e_tag: Some(tag(&bytes)),
            last_modified: Some(time(at)),
            metadata: state.metadata.get(&req.input.key).cloned(),
            ..Default::default()
        }))
    }

    async fn delete_object(
        &self,
        req: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        let _state = self.lock();
        self.delete(req.input.key);
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        req: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let _state = self.lock();
        let mut deleted = Vec::new();
        for object in req.input.delete.objects {
            self.delete(object.key.clone());
            deleted.push(DeletedObject { key: Some(object.key), ..Default::default() });
        }
        Ok(S3Response::new(DeleteObjectsOutput { deleted: Some(deleted), ..Default::default() }))
    }

    async fn copy_object(&self, req: S3Request<CopyObjectInput>) -> S3Result<S3Response<CopyObjectOutput>> {
        let CopySource::Bucket { key, .. } = &req.input.copy_source else {
            return Err(s3_error!(NotImplemented));
        };
        let mut state = self.lock();
        let (bytes, _) = self.found(key)?;
        let metadata = state.metadata.get(&**key).cloned();
        let copied = CopyObjectResult { e_tag: Some(tag(&bytes)), ..Default::default() };
        self.put(&mut state, req.input.key, bytes, metadata);
        Ok(S3Response::new(CopyObjectOutput { copy_object_result: Some(copied), ..Default::default() }))
    }

    async fn list_objects_v2(
        &self,
        req: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = req.input;
        let age = self.lock().age;
        let prefix = input.prefix.unwrap_or_default();
        let image = self.bucket.image_before(age);
        let after = input.continuation_token.or(input.start_after).unwrap_or_default();
        let entries = level(&image, &prefix, input.delimiter.as_deref());
        let mut entries: Vec<_> = entries.into_iter().filter(|(key, _)| *key > after).collect();
        let is_truncated = entries.len() > PAGE_LEN;
        entries.truncate(PAGE_LEN);
        let next = entries.last().filter(|_| is_truncated).map(|(key, _)| key.clone());
        // Nobody promises an order within a page.
        entries.reverse();
        let (mut contents, mut common_prefixes) = (Vec::new(), Vec::new());
        for (key, found) in entries {
            match found {
                Some((byte_len, at)) => contents.push(Object {
                    key: Some(key),
                    size: Some(byte_len as i64),
                    last_modified: Some(time(at)),
                    ..Default::default()
                }),
                None => common_prefixes.push(CommonPrefix { prefix: Some(key) }),
            }
        }
        Ok(S3Response::new(ListObjectsV2Output {
            key_count: Some((contents.len() + common_prefixes.len()) as i32),
            contents: Some(contents),
            common_prefixes: Some(common_prefixes),
            is_truncated: Some(is_truncated),
            next_continuation_token: next,
            ..Default::default()
        }))
    }

    async fn create_multipart_upload(
        &self,
        req: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        let mut state = self.lock();
        state.upload_count += 1;
        let id = format!("upload-{}", state.upload_count);
        let parts = Parts { begun_ms: self.bucket.image().now_ms(), ..Parts::default() };
        state.uploads.insert((req.input.key.clone(), id.clone()), parts);
        let (key, upload_id) = (Some(req.input.key), Some(id));
        Ok(S3Response::new(CreateMultipartUploadOutput { key, upload_id, ..Default::default() }))
    }

    async fn upload_part(&self, req: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        let input = req.input;
        let bytes = content(input.body).await?;
        let mut state = self.lock();
        let parts = state.uploads.get_mut(&(input.key, input.upload_id));
        let parts = parts.ok_or_else(|| s3_error!(NoSuchUpload))?;
        let e_tag = Some(tag(&bytes));
        parts.by_number.insert(input.part_number, bytes);
        Ok(S3Response::new(UploadPartOutput { e_tag, ..Default::default() }))
    }

    async fn complete_multipart_upload(
        &self,
        req: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let input = req.input;
        let mut state = self.lock();
        let name = (input.key.clone(), input.upload_id);
        let parts = state.uploads.get(&name).ok_or_else(|| s3_error!(NoSuchUpload))?;
        let mut bytes = Vec::new();
        for part in input.multipart_upload.and_then(|listed| listed.parts).unwrap_or_default() {
            let sent = part.part_number.and_then(|number| parts.by_number.get(&number));
            bytes.extend_from_slice(sent.ok_or_else(|| s3_error!(InvalidPart))?);
        }
        if input.if_none_match.is_some() {
            self.check_absent(&input.key)?;
        }
        state.uploads.remove(&name);
        let e_tag = Some(tag(&bytes));
        self.put(&mut state, input.key, bytes.into(), None);
        Ok(S3Response::new(CompleteMultipartUploadOutput { e_tag, ..Default::default() }))
    }

    async fn abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        let removed = self.lock().uploads.remove(&(req.input.key, req.input.upload_id));
        removed.ok_or_else(|| s3_error!(NoSuchUpload))?;
        Ok(S3Response::new(AbortMultipartUploadOutput::default()))
    }

    async fn list_multipart_uploads(
        &self,
        req: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
        let input = req.input;
        let after = (input.key_marker.unwrap_or_default(), input.upload_id_marker.unwrap_or_default());
        let prefix = input.prefix.unwrap_or_default();
        let state = self.lock();
        let with_prefix = state.uploads.iter().filter(|((key, _), _)| key.starts_with(&prefix));
        let mut found: Vec<_> = with_prefix.filter(|(name, _)| **name > after).collect();
        let is_truncated = found.len() > PAGE_LEN;
        found.truncate(PAGE_LEN);
        let last = found.last().filter(|_| is_truncated).map(|(name, _)| (*name).clone());
        let (next_key_marker, next_upload_id_marker) = last.unzip();
        let upload = |((key, id), parts): &(&(String, String), &Parts)| MultipartUpload {
            key: Some(key.clone()),
            upload_id: Some(id.clone()),
            initiated: Some(time(parts.begun_ms)),
            ..Default::default()
        };
        Ok(S3Response::new(ListMultipartUploadsOutput {
            uploads: Some(found.iter().map(upload).collect()),
            is_truncated: Some(is_truncated),
            next_key_marker,
            next_upload_id_marker,
            ..Default::default()
        }))
    }
}
