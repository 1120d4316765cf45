//! Dense fragments made one, tile after tile of the least rectangle around them.

use super::request::{MergeRequest, Merged};
use crate::progress::{Phase, Unit};
use crate::read::read_cells;
use crate::request::ReadRequest;
use crate::write::{DensePieces, DenseTiles, fields_of_fragment};
use smalti_array::{CellHistory, FieldId, Snapshot, dense_grid, intervals};
use smalti_tile::{Column, ColumnRef};
use smalti_types::{Error, Layout, Result, TimeRange};
use std::sync::Arc;

pub(super) fn merge(snapshot: &Snapshot, range: TimeRange, request: &MergeRequest) -> Result<Merged> {
    let schema = snapshot.schema();
    let hull = match &request.part {
        Some(part) => part.rectangle.clone(),
        None => {
            snapshot.non_empty_domain().ok_or_else(|| Error::invalid("there are no fragments to merge"))?
        }
    };
    let read = ReadRequest {
        fields: schema.attributes.iter().map(|attribute| attribute.name.clone()).collect(),
        ranges: hull.iter().map(|side| vec![side.clone()]).collect(),
        layout: Some(Layout::GlobalOrder),
        memory_byte_len: request.memory_byte_len,
        is_fresh: true,
        progress: request.progress.clone(),
        ..ReadRequest::default()
    };
    let progress = request.progress.clone().unwrap_or_default();
    progress.enter(Phase::Merging, Unit::Cells, smalti_space::cell_count(&intervals(&hull)?));
    let new = request.new_fragment(snapshot, range, CellHistory::default())?;
    let ids: Vec<FieldId> = (0..schema.attributes.len()).map(FieldId::Attribute).collect();
    let fields = fields_of_fragment(snapshot, &new.content(), &ids)?;
    let grid = dense_grid(schema)?;
    let pieces = DensePieces::of_tiles(grid, schema.cell_order, intervals(&hull)?)?;
    let mut tiles = DenseTiles::new(new, pieces, fields, Arc::clone(&progress));
    let mut cell_count = 0;
    for batch in read_cells(snapshot, &read)? {
        let batch = batch?;
        cell_count += batch.cell_count as u64;
        let columns: Vec<ColumnRef<'_>> = batch.columns.iter().map(Column::as_ref).collect();
        let taken = tiles.append(batch.cell_count, &columns)?;
        if taken != batch.cell_count {
            let message = format!("{} cells are no whole tiles, which have {taken}", batch.cell_count);
            return Err(Error::invalid(message));
        }
        progress.advance(Phase::Merging, Unit::Cells, batch.cell_count as u64);
    }
    Ok(Merged { fragments: vec![tiles.seal()?], cell_count })
}
