//! What a snapshot shows, by name, so that another process opens the same without listing the array.

use crate::evolution::check_same_space;
use crate::fragment::Kin;
use crate::fragment_meta::FoundFooters;
use crate::side_by_side::side_by_side;
use crate::snapshot::read_schema;
use crate::{ArrayPlace, DeleteCommit, Fragment, ListedFragment, Snapshot};
use smalti_format::names::{
    FRAGMENT_METADATA_FILE, OLD_SCHEMA_FILE, SCHEMA_FOLDER, TimestampedName, fragment_file_path,
};
use smalti_format::{ArraySchema, ConditionTree};
use smalti_store::StoreExt;
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The names of all that a snapshot shows, and its delete conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The time range.
    pub time: TimeRange,
    /// The file name of the schema.
    pub schema_name: String,
    /// The names of the fragments, oldest first.
    pub fragments: Vec<String>,
    /// The delete commits, oldest first: their names, and which cells stay. Commits may move into other files; what they say does not
    /// change.
    pub deletes: Vec<(String, ConditionTree)>,
}

impl Snapshot {
    /// What the snapshot shows, by name.
    ///
    /// # Errors
    /// `NotFound` when the time range has [lost](Snapshot::lost_history) cells; what reading delete commits reports.
    pub fn manifest(&self) -> Result<Manifest> {
        self.check_history()?;
        let deletes = self.deletes()?.iter().map(|delete| (delete.name.to_string(), delete.stays.clone()));
        Ok(Manifest {
            time: self.time(),
            schema_name: self.schema_name().to_owned(),
            fragments: self.fragments().iter().map(|fragment| fragment.name().to_string()).collect(),
            deletes: deletes.collect(),
        })
    }

    /// Opens what a manifest names. Nothing is listed: the schemas and the fragments are read by name.
    ///
    /// # Errors
    /// `NotFound` when the array does not have the schema, or not a fragment any more; `Corrupt` for names that are none;
    /// `Unsupported`, `Permission`, with the file named.
    pub fn of_manifest(place: ArrayPlace, manifest: &Manifest) -> Result<Snapshot> {
        let lease = place.reader_lease()?;
        let schema_name = &manifest.schema_name;
        let schema = Arc::new(named_schema(&place, schema_name).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::not_found(format!(
                "the array has no schema {schema_name:?}: it was made anew since, or is another one than was planned for; \
                 plan the read again"
            ))
            .at_uri(place.uri()),
            _ => error,
        })?);
        let listed = |name: &String| ListedFragment::named(TimestampedName::parse(name)?);
        let listed: Vec<ListedFragment> = manifest.fragments.iter().map(listed).collect::<Result<_>>()?;
        let fragments = open_fragments(&place, schema_name, &schema, &listed).map_err(|error| {
            let gone = match error.kind() {
                ErrorKind::NotFound => listed.iter().find(|listed| is_gone(&place, listed)),
                _ => None,
            };
            gone.map_or(error, |listed| {
                Error::not_found(format!(
                    "the array has no fragment {} any more, which the read was planned for: a vacuum took it, or this is \
                     another array; plan the read again",
                    listed.name
                ))
                .at_uri(place.uri())
            })
        })?;
        let delete = |(name, stays): &(String, ConditionTree)| -> Result<DeleteCommit> {
            Ok(DeleteCommit { name: TimestampedName::parse(name)?, stays: stays.clone() })
        };
        let deletes = manifest.deletes.iter().map(delete).collect::<Result<Vec<_>>>()?;
        let schema = (schema, schema_name.clone());
        Ok(Snapshot::assembled(place, manifest.time, schema, fragments, deletes, lease))
    }
}

fn open_fragments(
    place: &ArrayPlace,
    schema_name: &str,
    schema: &Arc<ArraySchema>,
    listed: &[ListedFragment],
) -> Result<Vec<Arc<Fragment>>> {
    let kin = |schema: Arc<ArraySchema>| Arc::new(Kin::new(place, schema));
    let known = HashMap::from([(schema_name.to_owned(), kin(Arc::clone(schema)))]);
    let known: RwLock<HashMap<String, Arc<Kin>>> = RwLock::new(known);
    let kin_of = |wanted: &str| -> Result<Arc<Kin>> {
        if let Some(kin) = known.read().unwrap_or_else(PoisonError::into_inner).get(wanted) {
            return Ok(Arc::clone(kin));
        }
        let older = Arc::new(named_schema(place, wanted)?);
        check_same_space(schema, &older)?;
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(known.entry(wanted.to_owned()).or_insert_with(|| kin(older))))
    };
    let footers = FoundFooters::none(listed.len());
    let tail_byte_len = Fragment::tail_byte_len(listed, &schema.shape());
    let open =
        |start: usize, listed: &[ListedFragment]| footers.open(place, start, listed, tail_byte_len, kin_of);
    let shares = side_by_side(listed, open).into_iter().collect::<Result<Vec<_>>>()?;
    Ok(shares.into_iter().flatten().collect())
}

/// The schema in a file of the array. A name from elsewhere never forms a path beyond the folder of schemas.
fn named_schema(place: &ArrayPlace, name: &str) -> Result<ArraySchema> {
    let path = match name {
        OLD_SCHEMA_FILE => place.join(OLD_SCHEMA_FILE),
        name => place.join(&smalti_store::join(SCHEMA_FOLDER, TimestampedName::parse(name)?.as_str())),
    };
    read_schema(place, &path)
}

fn is_gone(place: &ArrayPlace, listed: &ListedFragment) -> bool {
    let path = fragment_file_path(&listed.name, listed.version, FRAGMENT_METADATA_FILE);
    matches!(place.store().file_exists(&place.join(&path)), Ok(false))
}
