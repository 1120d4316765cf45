//! Cells of a dense write, put where their coordinates say.

use super::Field;
use crate::failure::{Failure, Outcome};
use smalti::{AlignedBuf, Column, Extent};

/// The part of the domain that a dense write fills: a range of ordinals on each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// Least and greatest ordinal of each dimension.
    pub(crate) ranges: Vec<(u64, u64)>,
}

impl Region {
    /// The part of the domain of one interval a dimension.
    ///
    /// # Errors
    /// When an interval is one of strings.
    pub(crate) fn new(extents: &[Extent]) -> Outcome<Self> {
        let range = |extent: &Extent| match extent {
            Extent::Num { lo, hi } => Ok((*lo, *hi)),
            Extent::Str { .. } => Err(Failure::invalid("dense arrays have no string dimensions")),
        };
        Ok(Region { ranges: extents.iter().map(range).collect::<Outcome<_>>()? })
    }

    /// Positions on each dimension; saturated beyond 64 bits.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let len = |&(lo, hi): &(u64, u64)| usize::try_from((hi - lo).saturating_add(1)).unwrap_or(usize::MAX);
        self.ranges.iter().map(len).collect()
    }

    /// The number of cells.
    ///
    /// # Errors
    /// When it does not fit 64 bits.
    pub(crate) fn cell_count(&self) -> Outcome<usize> {
        self.shape().iter().try_fold(1_usize, |product, &len| product.checked_mul(len)).ok_or_else(|| {
            Failure::invalid("the range to write has more cells than memory can hold; give a smaller --range")
        })
    }

    /// The row-major position of a cell, or the dimension on which it lies outside.
    fn position(&self, ordinals: impl Iterator<Item = u64>) -> Result<usize, usize> {
        let mut position = 0;
        for (dim, (ordinal, &(lo, hi))) in ordinals.zip(&self.ranges).enumerate() {
            if ordinal < lo || ordinal > hi {
                return Err(dim);
            }
            position = position * ((hi - lo) as usize + 1) + (ordinal - lo) as usize;
        }
        Ok(position)
    }

    /// The coordinates of a row-major position, as people read them.
    fn coordinates(&self, dimensions: &[&Field], mut position: usize) -> String {
        let mut names = Vec::new();
        for (field, &(lo, hi)) in dimensions.iter().zip(&self.ranges).rev() {
            let len = (hi - lo) as usize + 1;
            let bytes = field.datatype.bytes_of_ordinal(lo + (position % len) as u64);
            position /= len;
            let mut json = Vec::new();
            field.json_notation().push(&mut json, &bytes);
            names.push(format!("{}={}", field.name, String::from_utf8_lossy(&json)));
        }
        names.reverse();
        names.join(" ")
    }
}

/// Puts the columns of a dense write in row-major order of the region by the coordinates in them, and leaves these out.
/// Without coordinates the cells must already be in that order.
///
/// # Errors
/// When a cell lies outside, is given twice or is missing: the message names it.
pub(crate) fn place(columns: Vec<(Field, Column)>, region: &Region) -> Outcome<Vec<(Field, Column)>> {
    place_with(columns, region, None)
}

/// What cells that are missing hold: the bytes of a field's fill value; `None` for null.
pub(crate) type Fills<'a> = &'a dyn Fn(&Field) -> Option<Vec<u8>>;

/// As [`place`]; with `fills`, cells may be missing.
///
/// # Errors
/// As there.
pub(crate) fn place_with(
    columns: Vec<(Field, Column)>,
    region: &Region,
    fills: Option<Fills<'_>>,
) -> Outcome<Vec<(Field, Column)>> {
    let expected = region.cell_count()?;
    let cell_count = columns.first().map_or(0, |(field, column)| cell_count_of(field, column));
    let (dimensions, attributes): (Vec<_>, Vec<_>) =
        columns.into_iter().partition(|(field, _)| field.is_dimension);
    if dimensions.is_empty() {
        if cell_count == expected {
            return Ok(attributes);
        }
        return Err(Failure::invalid(format!("{cell_count} cells where the range to write has {expected}")));
    }
    let fields: Vec<&Field> = dimensions.iter().map(|(field, _)| field).collect();
    if fields.len() != region.ranges.len() {
        return Err(Failure::invalid("rows need the coordinates of all dimensions, or of none"));
    }
    // A missing cell is found below; far too few rows for the region must not first take memory for all of it.
    if fills.is_none() && cell_count < expected && expected - cell_count > 1 << 24 {
        return Err(Failure::invalid(format!(
            "{cell_count} cells where the range to write has {expected}; name the part to write with --range"
        )));
    }
    let mut rows = vec![NONE; expected];
    for row in 0..cell_count {
        let ordinal = |(field, column): &(Field, Column)| {
            field.datatype.ordinal(column.as_ref().cell(row, field.datatype.byte_len()))
        };
        let ordinals = dimensions.iter().map(ordinal).collect::<smalti::Result<Vec<u64>>>()?;
        match region.position(ordinals.iter().copied()) {
            Ok(position) if rows[position] == NONE => rows[position] = row,
            Ok(position) => {
                return Err(Failure::invalid(format!(
                    "row {}: the cell {} is given a second time, first in row {}",
                    row + 1,
                    region.coordinates(&fields, position),
                    rows[position] + 1
                )));
            }
            Err(dim) => {
                let field = fields[dim];
                let mut json = Vec::new();
                field.json_notation().push(&mut json, &field.datatype.bytes_of_ordinal(ordinals[dim]));
                return Err(Failure::invalid(format!(
                    "row {}: {}={} lies outside the range to write; name the part to write with --range",
                    row + 1,
                    field.name,
                    String::from_utf8_lossy(&json)
                )));
            }
        }
    }
    let missing = rows.iter().position(|&row| row == NONE);
    if let (Some(position), None) = (missing, fills) {
        return Err(Failure::invalid(format!(
            "the cell {} is missing: a dense write needs every cell of its range",
            region.coordinates(&fields, position)
        )));
    }
    if missing.is_none() && rows.is_sorted() {
        return Ok(attributes);
    }
    let gathered = |(field, column): (Field, Column)| {
        let fill = fills.filter(|_| missing.is_some()).and_then(|fills| fills(&field));
        Ok((gather(&field, &column, &rows, fill.as_deref())?, field))
    };
    attributes.into_iter().map(gathered).map(swap).collect()
}

/// The labels of the positions on one dimension, from a column in row-major order of the region that has the label of its
/// position in every cell.
///
/// # Errors
/// When two cells at one position have different labels: the message names both.
pub(crate) fn along(field: &Field, column: &Column, region: &Region, dim: usize) -> Outcome<Column> {
    let shape = region.shape();
    let side = shape.get(dim).copied().unwrap_or(0);
    let stride: usize = shape.iter().skip(dim + 1).product();
    let (cells, byte_len) = (column.as_ref(), field.cell_byte_len());
    let firsts: Vec<usize> = (0..side).map(|position| position * stride).collect();
    for cell in 0..cell_count_of(field, column) {
        let first = firsts[cell / stride % side];
        if cells.cell(cell, byte_len) != cells.cell(first, byte_len) {
            let shown = |cell| {
                let mut json = Vec::new();
                field.json_notation().push(&mut json, cells.cell(cell, byte_len));
                String::from_utf8_lossy(&json).into_owned()
            };
            return Err(Failure::invalid(format!(
                "the label {} is {} and {} at one position; cells at a position have the same label",
                field.name,
                shown(first),
                shown(cell)
            )));
        }
    }
    gather(field, column, &firsts, None)
}

/// Some rows of a column.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn rows_of(field: &Field, column: &Column, rows: &[usize]) -> Outcome<Column> {
    gather(field, column, rows, None)
}

fn swap(pair: Outcome<(Column, Field)>) -> Outcome<(Field, Column)> {
    pair.map(|(column, field)| (field, column))
}

/// The number of cells in a column.
pub(crate) fn cell_count_of(field: &Field, column: &Column) -> usize {
    match &column.offsets {
        Some(offsets) => (offsets.len() / 8).saturating_sub(1),
        None => column.data.len().checked_div(field.cell_byte_len()).unwrap_or(0),
    }
}

/// The row of a cell that is missing.
const NONE: usize = usize::MAX;

/// The cells of `column` in the order of `rows`; those that are missing are `fill`, or null.
fn gather(field: &Field, column: &Column, rows: &[usize], fill: Option<&[u8]>) -> Outcome<Column> {
    let (cells, byte_len) = (column.as_ref(), field.cell_byte_len());
    let nothing = vec![0; byte_len];
    let missing = fill.unwrap_or(&nothing);
    let missing_count = rows.iter().filter(|row| **row == NONE).count();
    let present = rows.iter().filter(|row| **row != NONE);
    let capacity = match column.offsets {
        Some(_) => present.map(|&row| cells.cell(row, byte_len).len()).sum::<usize>(),
        None => present.count() * byte_len,
    };
    let capacity = capacity + missing_count * missing.len();
    let mut out = Column { data: AlignedBuf::zeroed(capacity)?, ..Column::default() };
    let mut end = 0;
    let mut ends = Vec::with_capacity(rows.len() + 1);
    ends.push(0_u64);
    for &row in rows {
        let cell = if row == NONE { missing } else { cells.cell(row, byte_len) };
        out.data.as_mut_slice()[end..end + cell.len()].copy_from_slice(cell);
        end += cell.len();
        ends.push(end as u64);
    }
    out.data.resize(end)?;
    if column.offsets.is_some() {
        let mut offsets = AlignedBuf::new();
        offsets.extend_from_slice(bytemuck::cast_slice(&ends))?;
        out.offsets = Some(offsets);
    }
    if let Some(validity) = cells.validity {
        let valid = |row: usize| if row == NONE { u8::from(fill.is_some()) } else { validity[row] };
        let picked: Vec<u8> = rows.iter().map(|&row| valid(row)).collect();
        let mut buf = AlignedBuf::new();
        buf.extend_from_slice(&picked)?;
        out.validity = Some(buf);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::field::tests::field;
    use super::*;
    use crate::cells::ColumnBuilder;
    use smalti::{Datatype, Scalar};

    fn columns(rows: &[(i32, i32, Option<&str>)]) -> Vec<(Field, Column)> {
        let mut fields = [
            field("y", Datatype::Int32, 1, false),
            field("x", Datatype::Int32, 1, false),
            field("s", Datatype::StringUtf8, 0, true),
        ];
        fields[0].is_dimension = true;
        fields[1].is_dimension = true;
        let mut builders = fields.each_ref().map(ColumnBuilder::new);
        for (y, x, text) in rows {
            builders[0].push_bytes(&y.to_le_bytes()).unwrap();
            builders[1].push_bytes(&x.to_le_bytes()).unwrap();
            match text {
                Some(text) => builders[2].push_bytes(text.as_bytes()).unwrap(),
                None => builders[2].push_null().unwrap(),
            }
        }
        fields.into_iter().zip(builders).map(|(field, builder)| (field, builder.finish().unwrap())).collect()
    }

    fn region() -> Region {
        let range = |lo, hi| Extent::between(Scalar::I32(lo), Scalar::I32(hi)).unwrap();
        Region::new(&[range(-1, 0), range(1, 2)]).unwrap()
    }

    #[test]
    fn cells_go_where_their_coordinates_say() {
        let rows = [(0, 2, Some("d")), (-1, 1, Some("a")), (0, 1, None), (-1, 2, Some("bb"))];
        let placed = place(columns(&rows), &region()).unwrap();
        let [(field, column)] = placed.as_slice() else { panic!() };
        assert_eq!(field.name, "s");
        let cells = column.as_ref();
        assert_eq!(cells.data, b"abbd");
        assert_eq!(cells.offsets.unwrap(), [0, 1, 3, 3, 4]);
        assert_eq!(cells.validity.unwrap(), [1, 1, 0, 1]);
    }

    #[test]
    fn missing_double_and_outside_cells_are_named() {
        let all = [(-1, 1, None), (-1, 2, None), (0, 1, None), (0, 2, None)];
        for (rows, words) in [
            (vec![all[0], all[1], all[3]], "the cell y=0 x=1 is missing"),
            (
                vec![all[0], all[1], all[2], all[3], all[1]],
                "row 5: the cell y=-1 x=2 is given a second time, first in row 2",
            ),
            (vec![all[0], (0, 3, None)], "row 2: x=3 lies outside"),
        ] {
            let failure = place(columns(&rows), &region()).unwrap_err();
            assert!(failure.to_string().contains(words), "{failure}");
        }
    }
}
