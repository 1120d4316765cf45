//! NumPy files, alone or in a zip file: arrays of equal shape, which are the attributes of a dense array, or the columns of a table
//! where they have one axis.

use super::options::Format;
use super::source::{Watched, open};
use super::text::Naming;
use crate::failure::{Failure, Outcome};
use crate::formats::{NpyHeader as Header, descr};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use smalti::arrow::{ArrowForm, arrow_array, arrow_field};
use smalti::{AlignedBuf, CellShape, CellValNum, Column, Datatype, Unit};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use zip::ZipArchive;

/// The attribute of a file of one array.
pub(super) const VALUE: &str = "value";

/// Headers are short; longer ones are damaged.
const MAX_HEADER_BYTE_LEN: usize = 1 << 20;

/// Rows of a batch.
const BATCH_ROW_COUNT: usize = 1 << 16;

/// An array of a file.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// The name of the attribute.
    pub(super) name: String,
    /// Its place in the zip file.
    idx: usize,
    pub(super) shape: Vec<usize>,
    pub(super) is_fortran: bool,
    pub(super) datatype: Datatype,
    /// Whether the bytes of values come in the other order.
    is_swapped: bool,
}

impl Member {
    pub(super) fn cell_shape(&self) -> CellShape {
        CellShape { datatype: self.datatype, cell_val_num: CellValNum::ONE, is_nullable: false }
    }
}

/// The most arrays whose shapes are told.
const MAX_TOLD_COUNT: usize = 20;

/// The arrays of a file that `naming` wants; what the others are does not matter.
///
/// # Errors
/// Content that is none of the format, and types that no datatype holds.
pub(super) fn members(path: &Path, format: Format, naming: Naming<'_>) -> Outcome<Vec<Member>> {
    let in_file = |problem: String| Failure::invalid(problem).at(path.display().to_string());
    if format == Format::Npy {
        let found = member(VALUE.into(), 0, &mut BufReader::new(open(path)?)).map_err(in_file)?;
        return Ok(if naming(VALUE).is_some() { vec![found] } else { Vec::new() });
    }
    let mut archive = zip(path)?;
    let mut members: Vec<Member> = Vec::new();
    for (idx, name) in names(path, &archive)? {
        if naming(&name).is_none() {
            continue;
        }
        let mut file =
            archive.by_index(idx).map_err(|error| zip_failure(error).at(path.display().to_string()))?;
        members.push(
            member(name.clone(), idx, &mut file)
                .map_err(|problem| in_file(format!("{name}.npy: {problem}")))?,
        );
    }
    Ok(members)
}

/// The places and names of the arrays of a zip file.
fn names(path: &Path, archive: &ZipArchive<BufReader<File>>) -> Outcome<Vec<(usize, String)>> {
    let named = (0..archive.len()).filter_map(|idx| {
        let name = archive.name_for_index(idx)?.strip_suffix(".npy")?;
        Some((idx, name.to_owned()))
    });
    let names: Vec<(usize, String)> = named.collect();
    if names.is_empty() {
        return Err(
            Failure::invalid("no member of the zip file is a NumPy array").at(path.display().to_string())
        );
    }
    Ok(names)
}

/// Checks that arrays have one shape and order, as the attributes of an array and the columns of a table do.
///
/// # Errors
/// Names every array with its shape, and those that go together.
pub(super) fn check_shapes(path: &Path, members: &[Member]) -> Outcome {
    let Some(first) = members.first() else { return Ok(()) };
    let is_alike = |member: &&Member| (&member.shape, member.is_fortran) == (&first.shape, first.is_fortran);
    if members.iter().all(|member| is_alike(&member)) {
        return Ok(());
    }
    let told = members.iter().take(MAX_TOLD_COUNT).map(|member| {
        let order = if member.is_fortran { " in Fortran order" } else { "" };
        format!("{} {:?}{order}", member.name, member.shape)
    });
    let told: Vec<String> = told.collect();
    let more = match members.len().saturating_sub(MAX_TOLD_COUNT) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let alike = members.iter().filter(is_alike).take(MAX_TOLD_COUNT).map(|member| member.name.as_str());
    let alike: Vec<&str> = alike.collect();
    Err(Failure::invalid(format!(
        "the arrays differ in shape or order: {}{more}; those of one shape and order become one array: pick them with --columns, as \
         with --columns {}",
        told.join(", "),
        alike.join(",")
    ))
    .at(path.display().to_string()))
}

fn member(name: String, idx: usize, input: &mut impl Read) -> Result<Member, String> {
    let header = header(input)?;
    let (datatype, is_swapped) = datatype_of(&header.descr)?;
    Ok(Member { name, idx, shape: header.shape, is_fortran: header.is_fortran, datatype, is_swapped })
}

/// Reads a header, and nothing behind it.
fn header(input: &mut impl Read) -> Result<Header, String> {
    let mut content = vec![0; 10];
    let cut = |error: std::io::Error| format!("the header cannot be read: {error}");
    input.read_exact(&mut content).map_err(cut)?;
    let byte_len = match content[6] {
        1 => usize::from(u16::from_le_bytes([content[8], content[9]])),
        _ => {
            content.resize(12, 0);
            input.read_exact(&mut content[10..]).map_err(cut)?;
            u32::from_le_bytes([content[8], content[9], content[10], content[11]]) as usize
        }
    };
    if byte_len > MAX_HEADER_BYTE_LEN {
        return Err(format!("a header of {byte_len} bytes; it is damaged, or no NumPy file"));
    }
    let start = content.len();
    content.resize(start + byte_len, 0);
    input.read_exact(&mut content[start..]).map_err(cut)?;
    Header::decode(&content).map(|(header, _)| header)
}

/// The datatype of NumPy's name, and whether its bytes come in the other order.
fn datatype_of(name: &str) -> Result<(Datatype, bool), String> {
    let is_swapped = name.starts_with('>');
    let own = if is_swapped { name.replacen('>', "<", 1) } else { name.to_owned() };
    let found = Datatype::ALL.iter().find(|datatype| descr(**datatype).is_some_and(|descr| descr == own));
    found.map(|datatype| (*datatype, is_swapped)).ok_or_else(|| {
        format!("values of type {name} are no numbers or times that an array holds; convert them with astype")
    })
}

fn zip(path: &Path) -> Outcome<ZipArchive<BufReader<File>>> {
    ZipArchive::new(BufReader::new(open(path)?))
        .map_err(|error| zip_failure(error).at(path.display().to_string()))
}

fn zip_failure(error: zip::result::ZipError) -> Failure {
    match error {
        zip::result::ZipError::Io(error) => error.into(),
        error => Failure::invalid(format!("the zip file cannot be read: {error}")),
    }
}

/// Opens arrays side by side, behind their headers.
pub(super) fn with_values<T>(
    path: &Path,
    format: Format,
    members: &[Member],
    work: impl FnOnce(&mut [Box<dyn Read + '_>]) -> Outcome<T>,
) -> Outcome<T> {
    let in_file = |failure: Failure| failure.at(path.display().to_string());
    let mut archives = Vec::new();
    let mut inputs: Vec<Box<dyn Read + '_>> = Vec::new();
    if format == Format::Npy {
        inputs.push(Box::new(BufReader::with_capacity(1 << 18, open(path)?)));
    } else {
        for _ in members {
            archives.push(zip(path)?);
        }
        for (archive, member) in archives.iter_mut().zip(members) {
            inputs.push(Box::new(archive.by_index(member.idx).map_err(|error| in_file(zip_failure(error)))?));
        }
    }
    for input in &mut inputs {
        header(input).map_err(|problem| in_file(Failure::invalid(problem)))?;
    }
    work(&mut inputs)
}

/// Reads the next values of an array.
///
/// # Errors
/// `InvalidArgument` when the file ends before.
pub(super) fn values(input: &mut dyn Read, member: &Member, count: usize) -> Outcome<AlignedBuf> {
    let width = member.datatype.byte_len();
    let byte_len =
        count.checked_mul(width).ok_or_else(|| Failure::invalid("more values than memory can address"))?;
    let mut data = AlignedBuf::zeroed(byte_len)?;
    input.read_exact(data.as_mut_slice()).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Failure::invalid(format!(
            "{:?}: the file ends before the last value of shape {:?}; it is cut short",
            member.name, member.shape
        )),
        _ => error.into(),
    })?;
    if member.is_swapped {
        data.as_mut_slice().chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    if member.datatype == Datatype::Bool && data.as_slice().iter().any(|byte| *byte > 1) {
        return Err(Failure::invalid(format!("{:?}: a boolean is neither 0 nor 1", member.name)));
    }
    Ok(data)
}

/// The columns of a file of arrays with one axis; those that `naming` does not want are named alone.
pub(super) fn columns(path: &Path, format: Format, naming: Naming<'_>) -> Outcome<Vec<Field>> {
    let members = line_members(path, format, naming)?;
    let names = match format {
        Format::Npy => vec![(0, VALUE.to_owned())],
        _ => names(path, &zip(path)?)?,
    };
    let field = |(_, name): &(usize, String)| match members.iter().find(|member| member.name == *name) {
        Some(member) => arrow_field(name, member.cell_shape(), ArrowForm::default()),
        None => Field::new(name, DataType::Null, true),
    };
    Ok(names.iter().map(field).collect())
}

/// The arrays that are columns of a table.
fn line_members(path: &Path, format: Format, naming: Naming<'_>) -> Outcome<Vec<Member>> {
    let members = members(path, format, naming)?;
    check_shapes(path, &members)?;
    if let Some(other) = members.iter().find(|member| member.shape.len() != 1) {
        return Err(Failure::invalid(format!(
            "{:?} has {} axes; arrays of one axis are the columns of a table, others make a dense array: leave out --sparse",
            other.name,
            other.shape.len()
        ))
        .at(path.display().to_string()));
    }
    Ok(members)
}

/// Hands on the rows of such a file.
pub(super) fn rows(
    path: &Path,
    format: Format,
    naming: Naming<'_>,
    watched: &Watched<'_>,
    hand_on: &mut dyn FnMut(RecordBatch) -> Outcome,
) -> Outcome {
    let members = line_members(path, format, naming)?;
    let fields = members
        .iter()
        .map(|member| arrow_field(&member.name, member.cell_shape(), ArrowForm::default()))
        .collect::<Vec<Field>>();
    let row_count = members.first().and_then(|member| member.shape.first()).copied().unwrap_or(0);
    let schema = Arc::new(Schema::new(fields));
    watched.begin(Unit::Cells, Some(row_count as u64));
    let in_file = |failure: Failure| failure.at(path.display().to_string());
    with_values(path, format, &members, |inputs| {
        for start in (0..row_count).step_by(BATCH_ROW_COUNT) {
            let count = BATCH_ROW_COUNT.min(row_count - start);
            let mut arrays: Vec<ArrayRef> = Vec::new();
            for (member, input) in members.iter().zip(inputs.iter_mut()) {
                let data = values(input, member, count).map_err(in_file)?;
                let column = Column { data, ..Column::default() };
                arrays.push(arrow_array(column, member.cell_shape(), count, ArrowForm::default())?);
            }
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
            watched.advance(Unit::Cells, count as u64);
            hand_on(batch.map_err(|error| in_file(Failure::invalid(error.to_string())))?)?;
        }
        Ok(())
    })
}
