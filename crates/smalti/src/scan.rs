//! Reads that are planned, and the splits that they divide into.

use crate::arrow::ArrowForm;
use crate::{Array, Context, Options, RecordBatches, Value};
use smalti_array::ArrayPlace;
use smalti_query::{Batches, Count, Explanation, Progress, ReadRequest, ResultField};
use smalti_types::{Datatype, Result};
use std::sync::Arc;

/// A read that is planned and not begun: it knows how much it will give, and divides into [splits](Split). It owns what it needs.
///
/// Made by [`ReadBuilder::scan`](crate::ReadBuilder::scan).
///
/// ```
/// use smalti::{Array, Count, Dimension, prelude::*};
///
/// let schema = Schema::dense().dimension(Dimension::new("x", 0..=99).tile(10)).attribute(Attribute::of::<i32>("a")).build()?;
/// let array = Array::create("mem://scan-docs", &schema)?;
/// array.write().column("a", &(0..100).collect::<Vec<i32>>()).commit()?;
///
/// let scan = array.read().range("x", 20..).scan()?;
/// assert_eq!(scan.cell_count(), Count::Exact(80));
/// let statistics = scan.statistics()?;
/// assert_eq!((&statistics[1].name[..], &statistics[1].greatest), ("a", &Some(Value::from(99))));
///
/// // Splits go to other threads and processes, as bytes where that helps.
/// let mut cell_count = 0;
/// for split in scan.splits(4)? {
///     let bytes = split.to_bytes()?;
///     let split = smalti::Split::from_bytes(&bytes, &Options::new())?;
///     for batch in split.batches()? {
///         cell_count += batch?.num_rows();
///     }
/// }
/// assert_eq!(cell_count, 80);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scan {
    scan: Arc<smalti_query::Scan>,
    form: ArrowForm,
    context: Context,
}

/// What is known about the values of a field before a read, from metadata alone.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldStatistics {
    /// The field.
    pub name: String,
    /// No value of the read is less, nulls and NaN aside; `None` where nothing is known.
    pub least: Option<Value>,
    /// No value of the read is greater, nulls and NaN aside.
    pub greatest: Option<Value>,
    /// Whether both are values of the read themselves.
    pub is_exact: bool,
    /// How many cells of the read are null.
    pub null_count: Option<Count>,
}

impl Scan {
    pub(crate) fn new(scan: smalti_query::Scan, context: Context) -> Scan {
        Scan { scan: Arc::new(scan), form: ArrowForm::default(), context }
    }

    pub(crate) fn with_form(self, form: ArrowForm) -> Scan {
        Scan { form, ..self }
    }

    /// The fields of every batch.
    pub fn fields(&self) -> &[ResultField] {
        self.scan.fields()
    }

    /// How many cells the read gives: a bound where ranges, conditions or newer cells leave some of a tile out.
    pub fn cell_count(&self) -> Count {
        self.scan.cell_count()
    }

    /// How many bytes they take in memory; `None` where metadata does not tell, as of text in dense arrays.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub fn byte_len(&self) -> Result<Option<Count>> {
        self.context.stand_by(|| self.scan.byte_len())
    }

    /// What is known about the values of each field, in the order of the [fields](Scan::fields).
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub fn statistics(&self) -> Result<Vec<FieldStatistics>> {
        let known = self.context.stand_by(|| self.scan.statistics())?;
        let pairs = known.into_iter().zip(self.scan.fields());
        let one = |(known, field): (smalti_query::FieldStatistics, &ResultField)| {
            let datatype: Datatype = field.shape.datatype;
            let value =
                |bytes: Option<Vec<u8>>| bytes.map(|bytes| Value::from_le_bytes(datatype, bytes)).transpose();
            Ok(FieldStatistics {
                name: known.name,
                least: value(known.least)?,
                greatest: value(known.greatest)?,
                is_exact: known.is_exact,
                null_count: known.null_count,
            })
        };
        pairs.map(one).collect()
    }

    /// How the read would be carried out.
    ///
    /// # Errors
    /// As [`ReadBuilder::explain`](crate::ReadBuilder::explain).
    pub fn explain(&self) -> Result<Explanation> {
        self.context.stand_by(|| self.scan.explain())
    }

    /// The cells as a stream of Arrow record batches.
    ///
    /// # Errors
    /// As [`ReadBuilder::batches`](crate::ReadBuilder::batches).
    pub fn batches(&self) -> Result<RecordBatches> {
        RecordBatches::new(self.columns()?, self.scan.snapshot(), self.form, self.context.clone())
    }

    /// The cells as a stream of columns in the engine's own layout.
    ///
    /// # Errors
    /// As [`batches`](Scan::batches).
    pub fn columns(&self) -> Result<Batches> {
        self.context.stand_by(|| self.scan.read())
    }

    /// Divides the read into at most so many splits that take about as many bytes each: fewer where it is too small, or where its order
    /// does not divide, as the global order of several fragments in a Hilbert array. Read one after the other they give the cells of
    /// the read in its order; an array whose cells may repeat may give those of equal coordinates in another order. With a
    /// [limit](crate::ReadBuilder::limit) each gives as many cells at most, and whoever puts them together takes the first.
    ///
    /// # Errors
    /// `InvalidArgument` for no split, or more than 65,536; `NotFound` when the time range has lost cells.
    pub fn splits(&self, count: usize) -> Result<Vec<Split>> {
        let splits = self.context.stand_by(|| self.scan.splits(count))?;
        let place = self.scan.snapshot().place();
        let (form, context) = (self.form, &self.context);
        let one = |split| Split { split, place: place.clone(), form, context: context.clone() };
        Ok(splits.into_iter().map(one).collect())
    }
}

/// A part of a read, which another thread or process carries out; made by [`Scan::splits`].
///
/// It sees what the read saw, whatever is written since, and lists nothing: fragments are opened by their names. A split whose
/// fragments a vacuum took away since is refused, with the fragment named. Carried out twice it gives the same cells twice.
#[derive(Debug, Clone)]
pub struct Split {
    split: smalti_query::Split,
    place: ArrayPlace,
    form: ArrowForm,
    context: Context,
}

impl Split {
    pub(crate) fn new(split: smalti_query::Split, place: &ArrayPlace, context: &Context) -> Split {
        Split { split, place: place.clone(), form: ArrowForm::default(), context: context.clone() }
    }

    pub(crate) fn parts(&self) -> (&smalti_query::Split, &ArrayPlace, &Context) {
        (&self.split, &self.place, &self.context)
    }

    /// The array's address where the split was made.
    pub fn uri(&self) -> &str {
        self.split.uri()
    }

    /// Its place among the splits of the read, 1 for the first.
    pub fn number(&self) -> u32 {
        self.split.number()
    }

    /// How many splits the read has.
    pub fn count(&self) -> u32 {
        self.split.count()
    }

    /// About how many bytes its cells take in memory.
    pub fn byte_len(&self) -> u64 {
        self.split.byte_len()
    }

    /// What is read, in the words of the engine.
    pub fn request(&self) -> &ReadRequest {
        self.split.request()
    }

    /// The array as the read sees it: its schema, its enumerations, the fragments.
    ///
    /// # Errors
    /// As [`batches`](Split::batches).
    pub fn array(&self) -> Result<Array> {
        let snapshot = self.context.stand_by(|| self.split.snapshot(&self.place))?;
        Ok(Array::showing(snapshot, self.context.clone()))
    }

    /// Which Arrow types batches have where there is a choice; not written down.
    #[must_use]
    pub fn arrow_form(mut self, form: ArrowForm) -> Split {
        self.form = form;
        self
    }

    /// Its cells as a stream of Arrow record batches.
    ///
    /// # Errors
    /// `NotFound` when the array, its schema or a fragment is gone or another one, by name; as
    /// [`ReadBuilder::batches`](crate::ReadBuilder::batches).
    pub fn batches(&self) -> Result<RecordBatches> {
        let snapshot = self.context.stand_by(|| self.split.snapshot(&self.place))?;
        let batches = self.context.stand_by(|| self.split.read(&snapshot, None))?;
        RecordBatches::new(batches, &snapshot, self.form, self.context.clone())
    }

    /// Its cells as a stream of columns in the engine's own layout.
    ///
    /// # Errors
    /// As [`batches`](Split::batches).
    pub fn columns(&self) -> Result<Batches> {
        self.columns_with(None)
    }

    /// As [`columns`](Split::columns), with a progress that tells how far it is and can stop it.
    ///
    /// # Errors
    /// As [`batches`](Split::batches).
    pub fn columns_with(&self, progress: Option<Arc<Progress>>) -> Result<Batches> {
        self.context.stand_by(|| self.split.read(&self.split.snapshot(&self.place)?, progress))
    }

    /// The split as bytes, for [`from_bytes`](Split::from_bytes) elsewhere. The array's key is not in it: what a split of an encrypted
    /// array says is encrypted with that key, but for the address.
    ///
    /// # Errors
    /// `Io` when there is no randomness to encrypt with.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.split.to_bytes(&self.place)
    }

    /// A split from bytes, with the key of an encrypted array and the surroundings to carry it out in. The times of the options do
    /// not matter: the split knows its own.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are no split, torn or changed; `Unsupported` when a newer smalti made them; `Permission` without the
    /// key.
    ///
    /// ```
    /// use smalti::{ErrorKind, Options, Split};
    ///
    /// let error = Split::from_bytes(b"something else", &Options::new()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Corrupt);
    /// ```
    pub fn from_bytes(bytes: &[u8], options: &Options) -> Result<Split> {
        let uri = smalti_query::Split::uri_of(bytes)?;
        Split::from_bytes_at(bytes, &uri, options)
    }

    /// As [`from_bytes`](Split::from_bytes), where the array has another address than where the split was made.
    ///
    /// # Errors
    /// As [`from_bytes`](Split::from_bytes).
    pub fn from_bytes_at(bytes: &[u8], uri: &str, options: &Options) -> Result<Split> {
        let place = options.place(uri)?.metered();
        let split = smalti_query::Split::from_bytes(bytes, &place)?;
        Ok(Split { split, place, form: ArrowForm::default(), context: options.surroundings().clone() })
    }
}
