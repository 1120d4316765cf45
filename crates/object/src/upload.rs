//! Files that are written piece by piece: uploads in parts, which show nothing until they are completed.

use crate::error;
use crate::objects::{Objects, key_of};
use bytes::Bytes;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutMode, PutPayload};
use smalti_store::FileWriter;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::VecDeque;
use std::fmt;

/// Parts of a file that are on their way while the next one fills.
const PARTS_UNDER_WAY: usize = 2;

/// Stores take no more parts of a file than this.
const MAX_PART_COUNT: u64 = 10_000;

/// A file that is being written. What fits into a part is put when it is finished, at once.
pub(crate) struct Upload {
    objects: Objects,
    path: String,
    /// What is not sent yet.
    filling: Vec<u8>,
    begun: Option<Box<dyn MultipartUpload>>,
    under_way: VecDeque<crate::io::Begun<()>>,
    part_count: u64,
    byte_len: u64,
}

impl Upload {
    pub(crate) fn new(objects: Objects, path: String) -> Upload {
        Upload {
            objects,
            path,
            filling: Vec::new(),
            begun: None,
            under_way: VecDeque::new(),
            part_count: 0,
            byte_len: 0,
        }
    }

    /// The size of the next part. Parts grow, so that no file needs too many; a store that wants them alike has files of the first
    /// thousand parts.
    fn part_byte_len(&self) -> usize {
        let grown = self.objects.part_byte_len() << (self.part_count * 8 / MAX_PART_COUNT).min(16);
        usize::try_from(grown).unwrap_or(usize::MAX)
    }

    fn send_part(&mut self) -> Result<()> {
        if self.begun.is_none() {
            let key = key_of(&self.path)?;
            let client = self.objects.client();
            let asked = self.objects.asked(&self.path);
            let begin = async move {
                client.put_multipart(&key).await.map_err(|failed| error::told(&failed, &asked))
            };
            self.begun = Some(self.objects.io().wait(begin)?);
        }
        while self.under_way.len() >= PARTS_UNDER_WAY {
            self.under_way.pop_front().map_or(Ok(()), crate::io::Begun::wait)?;
        }
        let Some(upload) = &mut self.begun else { return Ok(()) };
        let part = upload.put_part(PutPayload::from(Bytes::from(std::mem::take(&mut self.filling))));
        let asked = self.objects.asked(&self.path);
        let sent = async move { part.await.map_err(|failed| error::told(&failed, &asked)) };
        self.under_way.push_back(self.objects.io().begin(sent));
        self.part_count += 1;
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        if self.begun.is_none() {
            let content = Bytes::from(std::mem::take(&mut self.filling));
            return self.objects.put_whole(&self.path, content, PutMode::Create);
        }
        if !self.filling.is_empty() {
            self.send_part()?;
        }
        for part in std::mem::take(&mut self.under_way) {
            part.wait()?;
        }
        // No store completes uploads only if nothing has the name; names of fragments are never used twice.
        if self.objects.byte_len_of(&self.path)?.is_some() {
            let taken = Error::new(ErrorKind::AlreadyExists, "an object of that name exists");
            return Err(taken.at_uri(self.objects.address_of(&self.path)));
        }
        let Some(mut upload) = self.begun.take() else { return Ok(()) };
        let asked = self.objects.asked(&self.path);
        let (completed, upload) = self.objects.io().wait(async move {
            let completed = upload.complete().await.map(drop);
            Ok((completed, upload))
        })?;
        let Err(failed) = completed else { return Ok(()) };
        // An acknowledgement may be all that was lost: of a try before the last too, whose answer says that there is no such upload then.
        if self.objects.byte_len_of(&self.path)? == Some(self.byte_len) {
            return Ok(());
        }
        self.begun = Some(upload);
        Err(error::told(&failed, &asked))
    }
}

impl FileWriter for Upload {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.part_byte_len().saturating_sub(self.filling.len()).max(1);
            let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.filling.try_reserve(now.len()).map_err(|_| {
                Error::new(ErrorKind::OutOfMemory, format!("no memory for a part of {} bytes", now.len()))
            })?;
            self.filling.extend_from_slice(now);
            self.byte_len += now.len() as u64;
            rest = later;
            if self.filling.len() >= self.part_byte_len() {
                self.send_part()?;
            }
        }
        Ok(())
    }

    fn byte_len(&self) -> u64 {
        self.byte_len
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.complete()
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.under_way.clear();
        if let Some(mut upload) = self.begun.take() {
            // Best effort: what stays shows nothing, and is taken away by the rules that the bucket has for unfinished uploads.
            let _ = self.objects.io().wait(async move {
                let _ = upload.abort().await;
                Ok(())
            });
        }
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({:?}, {} bytes)", self.path, self.byte_len)
    }
}
