//! Files that are written piece by piece: uploads in parts, which show nothing until they are completed.

use crate::error;
use crate::objects::{Objects, key_of};
use bytes::Bytes;
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{MultipartId, PutPayload};
use smalti_store::{FileWriter, UNKNOWN_EFFECT};
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
    begun: Option<(Path, MultipartId)>,
    /// Whether another upload of the file may have been begun, of which nobody learned the name.
    has_doubts: bool,
    under_way: VecDeque<crate::io::Begun<PartId>>,
    /// Those that have arrived.
    parts: Vec<PartId>,
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
            has_doubts: false,
            under_way: VecDeque::new(),
            parts: Vec::new(),
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
                let begun = client.create_multipart(&key).await;
                begun.map(|id| (key, id)).map_err(|failed| error::told(&failed, &asked))
            };
            let doubts = self.objects.doubts();
            let begun = self.objects.io().wait(begin);
            self.has_doubts = begun.is_err() || self.objects.doubts() != doubts;
            self.begun = Some(begun?);
        }
        while self.under_way.len() >= PARTS_UNDER_WAY {
            self.wait_for_part()?;
        }
        let Some((key, id)) = self.begun.clone() else { return Ok(()) };
        let room = self.objects.io().room(self.filling.len());
        let payload = PutPayload::from(Bytes::from(std::mem::take(&mut self.filling)));
        let (client, asked) = (self.objects.client(), self.objects.asked(&self.path));
        let idx = self.parts.len() + self.under_way.len();
        let sent = async move {
            let sent = client.put_part(&key, &id, idx, payload).await;
            drop(room);
            sent.map_err(|failed| error::told(&failed, &asked))
        };
        self.under_way.push_back(self.objects.io().begin(sent));
        self.part_count += 1;
        Ok(())
    }

    /// Waits for the first of the parts that are on their way.
    fn wait_for_part(&mut self) -> Result<()> {
        if let Some(part) = self.under_way.pop_front() {
            self.parts.push(part.wait()?);
        }
        Ok(())
    }

    fn complete(&mut self) -> Result<()> {
        if self.begun.is_none() {
            let content = Bytes::from(std::mem::take(&mut self.filling));
            return self.objects.put_whole(&self.path, content);
        }
        if !self.filling.is_empty() {
            self.send_part()?;
        }
        while !self.under_way.is_empty() {
            self.wait_for_part()?;
        }
        // No store completes uploads only if nothing has the name; names of fragments are never used twice.
        if self.objects.byte_len_of(&self.path)?.is_some() {
            let taken = Error::new(ErrorKind::AlreadyExists, "an object of that name exists");
            return Err(taken.at_uri(self.objects.address_of(&self.path)));
        }
        let Some((key, id)) = self.begun.clone() else { return Ok(()) };
        let (client, asked) = (self.objects.client(), self.objects.asked(&self.path));
        let parts = std::mem::take(&mut self.parts);
        let completed =
            self.objects.io().wait(async move { Ok(client.complete_multipart(&key, &id, parts).await) })?;
        let Err(failed) = completed else {
            self.begun = None;
            return Ok(());
        };
        // The acknowledgement may be all that was lost; who sends a completion twice is told that there is no such upload.
        match self.objects.byte_len_of(&self.path) {
            Ok(Some(found)) if found == self.byte_len => {
                self.begun = None;
                Ok(())
            }
            Ok(None) if !error::may_be_under_way(&failed) => Err(error::told(&failed, &asked)),
            Ok(_) => Err(error::told_of_change(&failed, &asked)),
            Err(_) => Err(error::told(&failed, &asked).context(UNKNOWN_EFFECT)),
        }
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
    /// Gives up what was begun and not completed. What cannot be given up is found by a check of the array.
    fn drop(&mut self) {
        self.under_way.clear();
        let begun = self.begun.take();
        if begun.is_none() && !self.has_doubts {
            return;
        }
        let (objects, path, has_doubts) = (self.objects.clone(), self.path.clone(), self.has_doubts);
        let _ = self.objects.io().wait(async move {
            if let Some((key, id)) = begun {
                let (client, mut pauses) = (objects.client(), objects.pauses());
                while let Err(failed) = client.abort_multipart(&key, &id).await {
                    let is_gone = matches!(failed, object_store::Error::NotFound { .. });
                    if is_gone || !error::is_uncertain(&failed) || !pauses.wait().await {
                        break;
                    }
                }
            }
            if has_doubts {
                objects.sweep_uploads(&path).await;
            }
            Ok(())
        });
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({:?}, {} bytes)", self.path, self.byte_len)
    }
}
