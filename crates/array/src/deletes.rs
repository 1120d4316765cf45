//! Delete commits: conditions on cells, each from its time on.

use crate::ArrayPlace;
use crate::commits::moved_delete;
use bytes::Bytes;
use smalti_format::ConditionTree;
use smalti_format::names::TimestampedName;
use smalti_types::Result;

/// A delete commit that a listing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDelete {
    /// Its name.
    pub name: TimestampedName,
    /// The path of the file that holds it.
    pub path: String,
    /// Its generic tile, out of a consolidated commits file; `None` for all of a file of its own.
    pub tile: Option<Bytes>,
}

/// A delete commit.
#[derive(Debug, Clone)]
pub struct DeleteCommit {
    /// Its name.
    pub name: TimestampedName,
    /// The condition as it is stored: which cells stay.
    pub stays: ConditionTree,
}

impl DeleteCommit {
    /// The time of the delete: it takes cells that were written at that time or before.
    pub fn at(&self) -> u64 {
        self.name.range().end
    }
}

impl ArrayPlace {
    /// Reads delete commits; the oldest comes first.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub(crate) fn read_deletes(&self, listed: &[ListedDelete]) -> Result<Vec<DeleteCommit>> {
        let mut deletes = listed.iter().map(|listed| self.read_delete(listed)).collect::<Result<Vec<_>>>()?;
        deletes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(deletes)
    }

    fn read_delete(&self, listed: &ListedDelete) -> Result<DeleteCommit> {
        let bytes = match &listed.tile {
            Some(tile) => tile.clone(),
            None => self
                .read_metadata_file(&listed.path)
                .or_else(|error| moved_delete(self, &listed.name, error))?,
        };
        let decode = || {
            let (tile, _) = self.open_tile(&bytes)?;
            ConditionTree::decode(tile.as_slice())
        };
        let stays = decode().map_err(|error| error.at_uri(self.store().address(&listed.path)))?;
        Ok(DeleteCommit { name: listed.name.clone(), stays })
    }
}
