//! What a write holds in memory beside its columns.

use super::columns::cell_count;
use super::request::WriteRequest;
use smalti_array::{FieldId, Snapshot, TakenMemory, dense_grid, field_shape, find_field};
use smalti_format::ArraySchema;
use smalti_tile::{CellShape, ColumnRef, StatsKind};
use smalti_types::parallel;
use smalti_types::{Layout, Result};

/// Keys, their order, and what sorting takes beside them, for a cell.
const SORTED_CELL_BYTE_LEN: u64 = 48;

/// Keys of cells that are sorted already.
const KEYED_CELL_BYTE_LEN: u64 = 16;

/// A tile that is filtered: its cells in order, and what the filters make of them.
const COPIES_OF_TILE: u64 = 2;

/// A least or a greatest text: of the tile, of the fragment, encoded, and filtered.
const COPIES_OF_BOUND: u64 = 5;

impl WriteRequest<'_> {
    /// Takes what the write holds beside its columns out of the account, if that has a limit.
    ///
    /// # Errors
    /// `OutOfMemory` when less is left.
    pub(super) fn take_memory(&self, snapshot: &Snapshot) -> Result<Option<TakenMemory>> {
        let resources = snapshot.place().resources();
        let is_limited = resources.left_byte_len().is_some();
        is_limited.then(|| resources.take(self.work_byte_len(snapshot.schema()))).transpose()
    }

    /// About how many bytes a write of this request holds at once beside its columns. Columns that do not fit the schema, which the
    /// write refuses, count as nothing.
    pub fn work_byte_len(&self, schema: &ArraySchema) -> u64 {
        let cells = cell_count(schema, self).unwrap_or(0) as u64;
        let threads = parallel::thread_count() as u64;
        let tile_cell_count = match schema.is_dense() {
            true => dense_grid(schema).ok().and_then(|grid| grid.cell_count_per_tile()).unwrap_or(1),
            false => schema.capacity,
        };
        let (mut all, mut coordinates, mut bounds) = (0_u64, 0_u64, 0_u64);
        let (mut largest_tile, mut group) = (0_u64, 0_u64);
        for (name, column) in &self.columns {
            let Some(field) = find_field(schema, name) else { continue };
            let Ok(shape) = field_shape(schema, field) else { continue };
            let is_dimension = matches!(field, FieldId::Dimension(_));
            let byte_len = column_byte_len(column);
            let (tile, longest) = tile_byte_len(column, shape, cells, tile_cell_count, schema.is_dense());
            all = all.saturating_add(byte_len);
            coordinates = coordinates.saturating_add(if is_dimension { byte_len } else { 0 });
            largest_tile = largest_tile.max(tile);
            group = group.saturating_add(tile.saturating_mul(threads));
            let kind = StatsKind::new(shape.datatype, shape.cell_val_num, is_dimension);
            if kind.has_min_max && shape.is_var() {
                let tile_count = cells.div_ceil(tile_cell_count.max(1));
                let of_tiles = longest.saturating_mul(tile_count).min(byte_len);
                bounds = bounds.saturating_add(of_tiles.saturating_mul(2 * COPIES_OF_BOUND));
            }
        }
        let order = match (schema.is_dense(), self.layout) {
            (true, _) => 0,
            (false, Layout::GlobalOrder) => cells.saturating_mul(KEYED_CELL_BYTE_LEN),
            (false, _) => cells.saturating_mul(SORTED_CELL_BYTE_LEN).saturating_add(coordinates),
        };
        // Tiles on the edge of a dense rectangle are padded.
        let (of_group, most) = match schema.is_dense() {
            true => (super::dense::GROUP_BYTE_LEN, all.max(group)),
            false => (super::sparse::GROUP_BYTE_LEN, all),
        };
        // Filtered tiles that wait for the store.
        let waiting = group.max(of_group as u64).min(most);
        let filtered = largest_tile.saturating_mul(threads).min(most).saturating_mul(COPIES_OF_TILE);
        order.saturating_add(filtered).saturating_add(waiting).saturating_add(bounds)
    }
}

fn column_byte_len(column: &ColumnRef<'_>) -> u64 {
    let offsets = column.offsets.map_or(0, size_of_val);
    (column.data.len() + offsets + column.validity.map_or(0, <[u8]>::len)) as u64
}

/// About the most bytes of a tile of a field, and of a cell.
fn tile_byte_len(
    column: &ColumnRef<'_>,
    shape: CellShape,
    cell_count: u64,
    tile_cell_count: u64,
    is_padded: bool,
) -> (u64, u64) {
    let in_tile = if is_padded { tile_cell_count } else { tile_cell_count.min(cell_count) };
    let Some(offsets) = column.offsets else {
        let byte_len = shape.cell_byte_len() as u64;
        return (in_tile.saturating_mul(byte_len + u64::from(shape.is_nullable)), byte_len);
    };
    let longest = offsets.windows(2).map(|ends| ends[1].saturating_sub(ends[0])).max().unwrap_or(0);
    let whole = column.data.len() as u64;
    // Long cells that meet in one tile are rare: one of them, and others of the mean length.
    let mean = whole.checked_div(cell_count).unwrap_or(0);
    let data = mean.saturating_add(mean / 4).saturating_mul(in_tile).saturating_add(longest).min(whole);
    (data.saturating_add(in_tile.saturating_mul(17)), longest)
}
