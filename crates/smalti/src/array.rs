//! Arrays: the handle that everything starts from.

use crate::Context;
use crate::views::View;
use crate::{
    DeleteBuilder, Fragment, GlobalWriteBuilder, Interval, Metadata, MetadataBuilder, Options, ReadBuilder,
    Scan, Schema, Value, WriteBuilder, WrittenDelete, WrittenFragment,
};
use arrow_schema::SchemaRef;
use smalti_array::{ArrayPlace, Listing, Snapshot, Upgrade, find_field};
use smalti_format::Rule;
use smalti_format::names::TimestampedName;
use smalti_query::condition::{BoundCondition, Condition, UnknownLabel};
use smalti_query::{
    Aggregate, AggregateRequest, AggregateValue, Analysis, Batches, CutRange, Explanation, Function,
    ReadRequest, Unchecked, WriteRequest,
};
use smalti_store::Traffic;
use smalti_types::{Datatype, Error, Extent, Result, TimeRange};
use std::sync::Arc;

/// An array, open for reading and writing.
///
/// A handle shows the array as it was when it was opened, and what was written through the handle since; what others write is
/// seen after [`reopen`](Array::reopen). Opened [at a time](Options::at), it shows that time, and writes without a
/// time of their own still happen now. Handles are cheap to clone, and clones show the same; they can be shared between threads and
/// sent to others. What is read of a handle goes on without it.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
///
/// let schema = Schema::dense()
///     .dimension(Dimension::new("x", 0..=3).tile(2))
///     .attribute(Attribute::of::<i64>("a"))
///     .build()?;
/// let array = Array::create("mem://array-docs", &schema)?;
/// array.write().column("a", &[10_i64, 11, 12, 13]).commit()?;
/// assert_eq!(array.read().range("x", 1..=2).to_ndarray::<i64>("a")?.as_slice(), Some(&[11, 12][..]));
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Array {
    place: ArrayPlace,
    time: TimeRange,
    context: Context,
    view: Arc<View>,
}

impl Array {
    /// Creates an array; its folder appears at once, or not at all.
    ///
    /// # Errors
    /// `AlreadyExists` when something is at the URI; `InvalidArgument` for a URI that names nothing.
    ///
    /// ```
    /// use smalti::{Array, Attribute, Dimension, ErrorKind, Schema};
    ///
    /// let schema = Schema::sparse()
    ///     .dimension(Dimension::string("gene"))
    ///     .attribute(Attribute::of::<u32>("count"))
    ///     .build()?;
    /// Array::create("mem://create-docs", &schema)?;
    /// let error = Array::create("mem://create-docs", &schema).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn create(uri: &str, schema: &Schema) -> Result<Array> {
        Array::create_with(uri, schema, &Options::new())
    }

    /// Creates an array with a key, another durability, another time of its creation, or another clock.
    ///
    /// # Errors
    /// As [`create`](Array::create).
    ///
    /// ```
    /// use smalti::{Array, Attribute, Dimension, EncryptionKey, Options, Schema};
    ///
    /// let schema = Schema::dense()
    ///     .dimension(Dimension::new("x", 0..=9))
    ///     .attribute(Attribute::of::<u8>("a"))
    ///     .build()?;
    /// let options = Options::new().key(EncryptionKey::new(&[7; 32])?);
    /// Array::create_with("mem://create-with-docs", &schema, &options)?;
    /// assert!(Array::open("mem://create-with-docs").is_err());
    /// Array::open_with("mem://create-with-docs", &options)?;
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn create_with(uri: &str, schema: &Schema, options: &Options) -> Result<Array> {
        options.time()?;
        options.place(uri)?.create_at(schema, schema.definitions(), options.creation_time())?;
        Array::open_with(uri, options)
    }

    /// Opens an array as it is now.
    ///
    /// # Errors
    /// `NotFound` when no array is there; `Corrupt`, `Unsupported` and `Permission` with the file named.
    ///
    /// ```
    /// use smalti::{Array, ErrorKind};
    ///
    /// assert_eq!(Array::open("mem://nothing-here").unwrap_err().kind(), ErrorKind::NotFound);
    /// ```
    pub fn open(uri: &str) -> Result<Array> {
        Array::open_with(uri, &Options::new())
    }

    /// Opens an array at a time, with a key, or with other surroundings.
    ///
    /// # Errors
    /// As [`open`](Array::open); `InvalidArgument` for an inverted time range.
    ///
    /// ```
    /// use smalti::{Array, Dimension, prelude::*};
    ///
    /// let schema = Schema::dense()
    ///     .dimension(Dimension::new("x", 0..=1))
    ///     .attribute(Attribute::of::<i32>("a"))
    ///     .build()?;
    /// let array = Array::create("mem://open-with-docs", &schema)?;
    /// array.write().column("a", &[1, 2]).at(1000).commit()?;
    /// array.write().column("a", &[3, 4]).at(2000).commit()?;
    ///
    /// let then = Array::open_with("mem://open-with-docs", &Options::new().at(1999))?;
    /// assert_eq!(then.read().to_ndarray::<i32>("a")?.as_slice(), Some(&[1, 2][..]));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn open_with(uri: &str, options: &Options) -> Result<Array> {
        Array::at_place(options.place(uri)?, options.time()?, options.surroundings().clone())
    }

    pub(crate) fn at_place(place: ArrayPlace, time: TimeRange, context: Context) -> Result<Array> {
        let place = place.metered();
        let view = Arc::new(context.stand_by(|| View::open(&place, time))?);
        Ok(Array { place, time, context, view })
    }

    /// A handle that shows a snapshot, until something is changed through it.
    pub(crate) fn showing(snapshot: Snapshot, context: Context) -> Array {
        let (place, time) = (snapshot.place().clone(), snapshot.time());
        Array { place, time, context, view: Arc::new(View::showing(snapshot)) }
    }

    /// The array as it is now, in the same time range: with what others wrote since.
    ///
    /// # Errors
    /// As [`open`](Array::open).
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # Array::create("mem://reopen-docs", &schema)?;
    /// let ours = Array::open("mem://reopen-docs")?;
    /// let theirs = Array::open("mem://reopen-docs")?;
    /// theirs.write().column("a", &[1, 2]).commit()?;
    /// assert_eq!(ours.fragments()?.len(), 0);
    /// assert_eq!(ours.reopen()?.fragments()?.len(), 1);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn reopen(&self) -> Result<Array> {
        Array::at_place(self.place.clone(), self.time, self.context.clone())
    }

    /// What has passed between the handle with its clones and the store, opening included: requests, bytes, and rounds, which are requests
    /// that waited for each other. What was kept of earlier handles is not asked for again, and not counted.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # Array::create("mem://traffic-docs", &schema)?.write().column("a", &[1, 2]).commit()?;
    /// let array = Array::open("mem://traffic-docs")?;
    /// let opening = array.traffic();
    /// array.read().to_ndarray::<i32>("a")?;
    /// let reading = array.traffic().since(&opening);
    /// assert!(opening.request_count() > 0 && reading.read_byte_len > 8);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn traffic(&self) -> Traffic {
        self.place.traffic()
    }

    /// The array's address: an absolute path or a URI.
    pub fn uri(&self) -> String {
        self.place.uri()
    }

    /// The schema at the end of the time range.
    pub fn schema(&self) -> Schema {
        self.view.schema()
    }

    /// The time of that schema, in milliseconds since 1970; `None` in arrays so old that it notes none.
    pub fn schema_timestamp(&self) -> Option<u64> {
        TimestampedName::parse(&self.view.schema_name()).ok().map(|name| name.range().end)
    }

    /// The Arrow schema of a read of everything: dimensions, then attributes.
    ///
    /// # Errors
    /// What a read reports as it starts.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<f32>("a")).build()?;
    /// let array = Array::create("mem://arrow-schema-docs", &schema)?;
    /// assert_eq!(array.arrow_schema()?.field(1).data_type().to_string(), "Float32");
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        Ok(self.read().batches()?.schema().clone())
    }

    /// The fragments in the time range, oldest first: one for every write that no consolidation has merged.
    ///
    /// # Errors
    /// As [`open`](Array::open), when this handle has written since the last look.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://fragments-docs", &schema)?;
    /// array.write().range("x", 2..=3).column("a", &[1, 2]).at(1000).commit()?;
    /// let fragments = array.fragments()?;
    /// assert_eq!(fragments[0].time().start, 1000);
    /// assert_eq!(fragments[0].non_empty_domain()?[0].to_string(), "2..=3");
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn fragments(&self) -> Result<Vec<Fragment>> {
        Ok(self.snapshot()?.fragments().iter().map(|fragment| Fragment::new(fragment.clone())).collect())
    }

    /// Bytes on disk of its fragments, metadata included: what asking each of them gives, but at once.
    ///
    /// # Errors
    /// As [`fragments`](Array::fragments), and what the storage reports of the fragments' metadata files.
    ///
    /// ```
    /// # use smalti::{Array, Attribute, Dimension, Schema};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://byte-len-docs", &schema)?;
    /// array.write().range("x", 2..=3).column("a", &[1, 2]).commit()?;
    /// assert_eq!(array.byte_len()?, array.fragments()?[0].byte_len()?);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn byte_len(&self) -> Result<u64> {
        let snapshot = self.snapshot()?;
        self.context.stand_by(|| snapshot.byte_len())
    }

    /// The least rectangle around all cells, an interval a dimension; `None` for an empty array.
    ///
    /// # Errors
    /// As [`fragments`](Array::fragments).
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::sparse().dimension(Dimension::string("d")).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://non-empty-docs", &schema)?;
    /// assert_eq!(array.non_empty_domain()?, None);
    /// array.write().column("d", &["b", "c"]).column("a", &[1, 2]).commit()?;
    /// assert_eq!(array.non_empty_domain()?.unwrap()[0].to_string(), r#""b"..="c""#);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn non_empty_domain(&self) -> Result<Option<Vec<Interval>>> {
        let snapshot = self.snapshot()?;
        let Some(extents) = snapshot.non_empty_domain() else { return Ok(None) };
        let pairs = snapshot.schema().dimensions.iter().zip(&extents);
        pairs
            .map(|(dimension, extent)| Interval::from_extent(dimension.datatype, extent))
            .collect::<Result<_>>()
            .map(Some)
    }

    /// The least and the greatest value of an attribute, as the statistics of the fragments in the time range keep them: no cell is
    /// read, and cells that are overwritten or deleted since count too. `None` where the statistics keep none: for values of
    /// several numbers, text that is no ASCII, fragments before format version 12, or nothing but nulls.
    ///
    /// # Errors
    /// `NotFound` when there is no attribute of that name; `Corrupt` and `Permission`, with the file named.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=2)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://attribute-bounds-docs", &schema)?;
    /// array.write().column("a", &[5, -7, 3]).commit()?;
    /// assert_eq!(array.attribute_bounds("a")?, Some((Value::from(-7), Value::from(5))));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn attribute_bounds(&self, name: &str) -> Result<Option<(Value, Value)>> {
        let snapshot = self.snapshot()?;
        let (_, attribute) = snapshot
            .schema()
            .attribute(name)
            .ok_or_else(|| Error::not_found(format!("there is no attribute {name:?}")).at_uri(self.uri()))?;
        let datatype = attribute.datatype;
        let is_less = |a: &[u8], b: &[u8]| match datatype.is_bytes() {
            true => Ok(a < b),
            false => Ok::<bool, Error>(datatype.ordinal(a)? < datatype.ordinal(b)?),
        };
        let mut bounds: Option<(Vec<u8>, Vec<u8>)> = None;
        for fragment in snapshot.fragments() {
            if !fragment.version().has(Rule::FragmentStatistics) {
                return Ok(None);
            }
            let Some(field) = find_field(fragment.schema(), name) else { continue };
            let Some((min, max)) = fragment.field_bounds(field)? else { continue };
            bounds = Some(match bounds.take() {
                None => (min, max),
                Some((least, greatest)) => (
                    if is_less(&min, &least)? { min } else { least },
                    if is_less(&greatest, &max)? { max } else { greatest },
                ),
            });
        }
        let Some((min, max)) = bounds else { return Ok(None) };
        Ok(Some((Value::from_le_bytes(datatype, min)?, Value::from_le_bytes(datatype, max)?)))
    }

    /// The bytes of all cells in the fragments of the time range as they are in memory: values, offsets of those of variable length,
    /// validity, and the coordinates of sparse cells. What filters make of them is [`Fragment::data_byte_len`].
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn unfiltered_byte_len(&self) -> Result<u64> {
        let mut sum = 0_u64;
        for fragment in self.snapshot()?.fragments() {
            let schema = fragment.schema();
            let dimensions = schema.dimensions.iter().filter(|_| !fragment.is_dense());
            let names = dimensions.map(|dimension| &dimension.name);
            for name in names.chain(schema.attributes.iter().map(|attribute| &attribute.name)) {
                let Some(field) = find_field(schema, name) else { continue };
                sum = sum.saturating_add(fragment.unfiltered_byte_len(field)?);
            }
        }
        Ok(sum)
    }

    /// As [`non_empty_domain`](Array::non_empty_domain), in the numbers of the engine.
    ///
    /// # Errors
    /// As [`fragments`](Array::fragments).
    pub fn non_empty_extents(&self) -> Result<Option<Vec<Extent>>> {
        Ok(self.snapshot()?.non_empty_domain())
    }

    /// The time of the first write whose cells are there, in milliseconds since 1970, whatever the time range of the handle; `None`
    /// when nothing was ever written.
    ///
    /// # Errors
    /// What listing the array reports.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://first-write-docs", &schema)?;
    /// assert_eq!(array.first_write()?, None);
    /// array.write().column("a", &[1, 2]).at(1000).commit()?;
    /// let before = Array::open_with("mem://first-write-docs", &Options::new().at(999))?;
    /// assert_eq!((before.fragments()?.len(), before.first_write()?), (0, Some(1000)));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn first_write(&self) -> Result<Option<u64>> {
        let listing = Listing::read(self.here()?, TimeRange::ALL, self.schema().is_dense())?;
        Ok(listing.fragments.iter().map(|fragment| fragment.name.range().start).min())
    }

    /// Why the cells of the time range that the array was opened in cannot be read any more, in the words with which a read refuses;
    /// `None` where they can. A vacuum or a purge took that past.
    ///
    /// # Errors
    /// As [`fragments`](Array::fragments).
    pub fn lost_history(&self) -> Result<Option<String>> {
        Ok(self.snapshot()?.lost_history())
    }

    /// What was passed over when the array was opened, but should be looked at.
    ///
    /// # Errors
    /// As [`fragments`](Array::fragments).
    pub fn warnings(&self) -> Result<Vec<String>> {
        Ok(self.snapshot()?.warnings().to_vec())
    }

    /// Rewrites the schema in a newer format version; see [`Upgrade`]. Fragments stay as they are, and new ones are written in
    /// that version. Returns the time of the new schema in milliseconds since 1970, or `None` where there was nothing to do;
    /// [`reopen`](Array::reopen) shows the new schema.
    ///
    /// # Errors
    /// `InvalidArgument` for a version older than the array's, a time before its newest schema, or an upgrade after which
    /// libtiledb could not read fragments that are there, unless it is forced.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::Upgrade;
    /// use smalti::format::Version;
    /// let schema = Schema::dense()
    ///     .dimension(Dimension::new("x", 0..=1))
    ///     .attribute(Attribute::of::<i32>("a"))
    ///     .format_version(15)
    ///     .build()?;
    /// let array = Array::create("mem://upgrade-docs", &schema)?;
    /// assert!(array.upgrade(&Upgrade { to: Version::new(21)?, ..Upgrade::default() })?.is_some());
    /// assert_eq!(array.reopen()?.schema().version.number(), 21);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn upgrade(&self, upgrade: &Upgrade) -> Result<Option<u64>> {
        self.here()?.upgrade(upgrade)
    }

    /// The metadata in the time range: keys with typed values.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    ///
    /// See [`write_metadata`](Array::write_metadata) for an example.
    pub fn metadata(&self) -> Result<Metadata> {
        self.here()?.metadata(self.time).and_then(Metadata::new)
    }

    /// Starts a change of metadata: any number of keys, seen all together or not at all.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// let array = Array::create("mem://metadata-docs", &schema)?;
    /// array.write_metadata().put("unit", "metre").put("scale", [0.1, 0.2]).at(1000).commit()?;
    /// array.write_metadata().delete("scale").at(2000).commit()?;
    /// let metadata = array.metadata()?;
    /// assert_eq!(metadata.get("unit").and_then(|unit| unit.as_str()), Some("metre"));
    /// assert!(metadata.get("scale").is_none());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn write_metadata(&self) -> MetadataBuilder<'_> {
        MetadataBuilder::new(&self.place, &self.context)
    }

    /// The array of a dimension label, in the same time range: one dimension, and the labels as an attribute. For reading the
    /// labels themselves; they are written through the array that they belong to.
    ///
    /// # Errors
    /// `NotFound` when there is no label of that name; `Unsupported` for a label that lies outside the array; as
    /// [`open`](Array::open).
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense()
    /// #     .dimension(Dimension::new("x", 0..=2))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .label(Label::of::<i64>("year", "x"))
    /// #     .build()?;
    /// let array = Array::create("mem://array-label-docs", &schema)?;
    /// array.write().column("year", &[1989_i64, 1990, 1993]).commit()?;
    /// let years = array.label("year")?.read().to_ndarray::<i64>("label")?;
    /// assert_eq!(years.as_slice(), Some(&[1989, 1990, 1993][..]));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn label(&self, name: &str) -> Result<Array> {
        let snapshot = self.snapshot()?;
        let place = snapshot.label_place(snapshot.find_label(name)?)?;
        Array::at_place(place, self.time, self.context.clone())
    }

    /// Starts a read; see [`ReadBuilder`].
    pub fn read(&self) -> ReadBuilder {
        ReadBuilder::new(self)
    }

    /// Starts a write of one fragment; see [`WriteBuilder`].
    pub fn write(&self) -> WriteBuilder<'_> {
        WriteBuilder::new(self)
    }

    /// Starts a delete of the cells of a sparse array that fulfil a condition.
    ///
    /// A delete commit holds which cells stay. So a delete also takes cells for which its condition is not known to be false:
    /// those with null, or NaN, where it compares.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::sparse()
    /// #     .dimension(Dimension::new("x", 0..=99))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .build()?;
    /// # let array = Array::create("mem://delete-docs", &schema)?;
    /// array.write().column("x", &[1, 2, 3]).column("a", &[10, 20, 30]).at(1000).commit()?;
    /// array.delete("a >= 20".parse()?).at(2000).commit()?;
    /// assert_eq!(array.read().collect()?.num_rows(), 1);
    /// let before = Array::open_with("mem://delete-docs", &Options::new().at(1999))?;
    /// assert_eq!(before.read().collect()?.num_rows(), 3);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn delete(&self, condition: Condition) -> DeleteBuilder<'_> {
        DeleteBuilder::new(self, condition)
    }

    pub(crate) fn commit_delete(&self, condition: &Condition, at: Option<u64>) -> Result<WrittenDelete> {
        let snapshot = self.snapshot_to_write()?;
        let deleted = smalti_query::delete(&snapshot, condition, at)?;
        self.expire();
        Ok(WrittenDelete::new(deleted))
    }

    /// Starts a write of one fragment in several pieces; see [`GlobalWriteBuilder`].
    pub fn global_writer(&self) -> GlobalWriteBuilder<'_> {
        GlobalWriteBuilder::new(self)
    }

    /// A read in the words of the engine: for programs that make requests at run time.
    ///
    /// # Errors
    /// `InvalidArgument` for unknown fields, ranges that do not fit, or an order that the array does not have.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://read-raw-docs", &schema)?;
    /// # array.write().column("a", &[5, 6]).commit()?;
    /// let request = smalti::ReadRequest { fields: vec!["a".into()], ..Default::default() };
    /// for batch in array.read_raw(&request)? {
    ///     assert_eq!(batch?.columns[0].data.values::<i32>(), [5, 6]);
    /// }
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn read_raw(&self, request: &ReadRequest) -> Result<Batches> {
        let snapshot = self.snapshot()?;
        self.context.stand_by(|| smalti_query::read(&snapshot, request))
    }

    /// A planned read in the words of the engine; see [`ReadBuilder::scan`].
    ///
    /// # Errors
    /// As [`read_raw`](Array::read_raw).
    pub fn scan_raw(&self, request: &ReadRequest) -> Result<Scan> {
        let snapshot = self.snapshot()?;
        let scan = self.context.stand_by(|| smalti_query::Scan::new(&snapshot, request))?;
        Ok(Scan::new(scan, self.context.clone()))
    }

    /// The ranges of a request that leave the domain, or the current one, and what a read takes of them; a
    /// [strict](ReadBuilder::strict) read refuses them.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://cut-ranges-docs", &schema)?;
    /// let cut = array.cut_ranges(&[vec![smalti::Extent::between(5_i32.into(), 99_i32.into())?]]);
    /// assert_eq!(
    ///     cut[0].to_string(),
    ///     "the range 5:99 of dimension \"x\" leaves its domain 0:9; only 5:9 of it lies inside"
    /// );
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn cut_ranges(&self, ranges: &[Vec<Extent>]) -> Vec<CutRange> {
        smalti_query::cut_ranges(&self.schema(), ranges)
    }

    /// Labels that a condition names and their enumerations lack: no cell has them. [`nearest_labels`](crate::nearest_labels)
    /// tells those that may be meant.
    ///
    /// # Errors
    /// `InvalidArgument` when the condition does not fit the schema; what reading an enumeration reports.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::sparse()
    /// #     .dimension(Dimension::new("x", 0..=9))
    /// #     .enumeration(Enumeration::new("colors", ["red", "green"]))
    /// #     .attribute(Attribute::of::<u8>("color").enumeration("colors"))
    /// #     .build()?;
    /// # let array = Array::create("mem://unknown-labels-docs", &schema)?;
    /// let unknown = array.unknown_labels(&"color == 'gren'".parse()?)?;
    /// assert_eq!(unknown[0].field, "color");
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn unknown_labels(&self, condition: &Condition) -> Result<Vec<UnknownLabel>> {
        let snapshot = self.snapshot()?;
        let bound = BoundCondition::bind(condition, snapshot.schema(), &|name| snapshot.enumeration(name))?;
        Ok(bound.unknown_labels().to_vec())
    }

    /// How a read would be carried out, without reading a cell.
    ///
    /// # Errors
    /// As [`read_raw`](Array::read_raw).
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::sparse()
    /// #     .dimension(Dimension::new("x", 0..=99).tile(10))
    /// #     .attribute(Attribute::of::<i32>("a"))
    /// #     .build()?;
    /// # let array = Array::create("mem://explain-docs", &schema)?;
    /// array.write().column("x", &[1, 2]).column("a", &[10, 20]).commit()?;
    /// array.write().column("x", &[80, 90]).column("a", &[30, 40]).commit()?;
    /// let plan = array.read().range("x", ..50).explain()?;
    /// assert_eq!(plan.read_tile_count(), 1);
    /// assert_eq!(plan.fragments[1].fate, smalti::FragmentFate::OutsideRanges);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn explain_raw(&self, request: &ReadRequest) -> Result<Explanation> {
        let snapshot = self.snapshot()?;
        self.context.stand_by(|| smalti_query::explain(&snapshot, request))
    }

    /// As [`explain_raw`](Array::explain_raw), and performs the read, whose cells are dropped.
    ///
    /// # Errors
    /// As [`read_raw`](Array::read_raw).
    pub fn analyze_raw(&self, request: &ReadRequest) -> Result<(Explanation, Analysis)> {
        let snapshot = self.snapshot()?;
        self.context.stand_by(|| smalti_query::analyze(&snapshot, request))
    }

    /// Aggregates in the words of the engine; see [`ReadBuilder::aggregate`].
    ///
    /// # Errors
    /// As [`ReadBuilder::aggregate`].
    pub fn aggregate_raw(&self, request: &AggregateRequest) -> Result<Vec<Option<Value>>> {
        let snapshot = self.snapshot()?;
        let found = self.context.stand_by(|| smalti_query::aggregate(&snapshot, request))?;
        let schema = snapshot.schema();
        let datatype = |aggregate: &Aggregate| {
            let name = aggregate.field.as_deref().unwrap_or_default();
            let dimension = schema.dimension(name).map(|(_, dimension)| dimension.datatype);
            dimension.or_else(|| schema.attribute(name).map(|(_, attribute)| attribute.datatype))
        };
        let values = request.aggregates.iter().zip(found);
        values
            .map(|(aggregate, value)| {
                let is_cell = matches!(aggregate.function, Function::Min | Function::Max);
                match (value, datatype(aggregate).filter(|_| is_cell)) {
                    (AggregateValue::Nothing, _) => Ok(None),
                    (AggregateValue::Number(number), None) => Ok(Some(Value::from(number))),
                    (AggregateValue::Number(number), Some(datatype)) => {
                        Value::from_le_bytes(datatype, number.to_le_bytes()).map(Some)
                    }
                    (AggregateValue::Text(text), datatype) => {
                        Value::from_le_bytes(datatype.unwrap_or(Datatype::StringAscii), text).map(Some)
                    }
                }
            })
            .collect()
    }

    /// A write in the words of the engine.
    ///
    /// # Errors
    /// `InvalidArgument` names the column, cell or range that is wrong; nothing is written then.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// use smalti::{ColumnRef, Duplicates, WriteRequest};
    /// # let schema = Schema::dense().dimension(Dimension::new("x", 0..=1)).attribute(Attribute::of::<u8>("a")).build()?;
    /// # let array = Array::create("mem://write-raw-docs", &schema)?;
    /// array.write_raw(&WriteRequest {
    ///     columns: vec![("a".into(), ColumnRef::fixed(&[1, 2]))],
    ///     subarray: None,
    ///     layout: Layout::RowMajor,
    ///     at: None,
    ///     duplicates: Duplicates::Refuse,
    ///     progress: None,
    /// })?;
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn write_raw(&self, request: &WriteRequest<'_>) -> Result<WrittenFragment> {
        let snapshot = self.snapshot_to_write()?;
        let name = self.context.run(|| smalti_query::write(&snapshot, request))?;
        self.expire();
        Ok(WrittenFragment::new(name))
    }

    /// As [`write_raw`](Array::write_raw), where some of what is checked of sparse cells is not.
    ///
    /// # Errors
    /// As [`write_raw`](Array::write_raw).
    pub fn write_raw_unchecked(
        &self,
        request: &WriteRequest<'_>,
        unchecked: Unchecked,
    ) -> Result<WrittenFragment> {
        let snapshot = self.snapshot_to_write()?;
        let name = self.context.run(|| smalti_query::write_unchecked(&snapshot, request, unchecked))?;
        self.expire();
        Ok(WrittenFragment::new(name))
    }

    /// About how many bytes [`write_raw`](Array::write_raw) holds at once beside the columns of a request.
    pub fn write_byte_len(&self, request: &WriteRequest<'_>) -> u64 {
        self.context.run(|| request.work_byte_len(&self.schema()))
    }

    /// Where the array is, for work of the process that the handle is of.
    fn here(&self) -> Result<&ArrayPlace> {
        self.context.check_process()?;
        Ok(&self.place)
    }

    /// Runs an operation on the array's files with the threads of the handle.
    pub(crate) fn run<T: Send>(&self, operation: impl FnOnce(&ArrayPlace) -> Result<T> + Send) -> Result<T> {
        self.context.check_process()?;
        self.context.run(|| operation(&self.place))
    }

    pub(crate) fn place(&self) -> &ArrayPlace {
        &self.place
    }

    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.context.stand_by(|| self.view.latest(&self.place, self.time))
    }

    /// A write depends on the schema, not on the cells that are there.
    pub(crate) fn snapshot_to_write(&self) -> Result<Snapshot> {
        self.context.stand_by(|| self.view.last(&self.place, self.time))
    }

    pub(crate) fn time(&self) -> TimeRange {
        self.time
    }

    /// Lets vacuum take away what the handle shows.
    pub(crate) fn release_view(&self) {
        self.view.release();
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Notes that this handle wrote cells.
    pub(crate) fn expire(&self) {
        self.view.expire();
    }
}
