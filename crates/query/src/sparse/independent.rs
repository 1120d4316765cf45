//! Reads tile after tile: for unordered reads in which no cell hides another, and the global order of one fragment.
//!
//! Tiles that are wholly wanted are decoded straight into the output.

use super::plan::{SparseField, SparsePlan, TileRef};
use super::select::Selection;
use crate::gather::{CellRun, gather};
use crate::request::Batch;
use crate::workspace::{Workspace, room};
use rayon::prelude::*;
use smalti_array::{FieldId, Plane};
use smalti_tile::{Column, ColumnRef};
use smalti_types::{AlignedBuf, Result};

/// A selected tile and its share of the output of one plane.
type Share<'s, 'o> = (&'s TileRef, &'s Selection, &'o mut [u8]);

impl SparsePlan<'_> {
    /// Reads the wanted cells of some tiles, in the order of the tiles.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn read_tiles(&self, tiles: &[TileRef]) -> Result<Batch> {
        let selected: Vec<Selection> =
            tiles.par_iter().map(|tile| self.select(tile, false, false)).collect::<Result<_>>()?;
        let cell_count = selected.iter().map(|selection| selection.count).sum();
        let columns = (0..self.fields.len())
            .map(|field| self.read_field(field, tiles, &selected, cell_count))
            .collect::<Result<_>>()?;
        Ok(Batch { cell_count, columns })
    }

    fn read_field(
        &self,
        field: usize,
        tiles: &[TileRef],
        selected: &[Selection],
        cell_count: usize,
    ) -> Result<Column> {
        let shape = self.fields[field].shape;
        if shape.is_var() {
            return self.gather_field(field, tiles, selected);
        }
        self.check_claims(field, tiles, selected)?;
        let byte_len = shape.cell_byte_len();
        let mut column = Column { data: AlignedBuf::zeroed(cell_count * byte_len)?, ..Column::default() };
        self.fill_plane(field, Plane::Fixed, byte_len, tiles, selected, column.data.as_mut_slice())?;
        if shape.is_nullable {
            let mut validity = AlignedBuf::zeroed(cell_count)?;
            self.fill_plane(field, Plane::Validity, 1, tiles, selected, validity.as_mut_slice())?;
            column.validity = Some(validity);
        }
        Ok(column)
    }

    /// Checks the cells that the fragments say their tiles have, before the output is allocated.
    fn check_claims(&self, field: usize, tiles: &[TileRef], selected: &[Selection]) -> Result<()> {
        for (tile, selection) in tiles.iter().zip(selected) {
            let fragment = &self.fragments[tile.fragment_idx];
            // A field that is not in the fragment is filled for the cells that its coordinates are for.
            let source = fragment.sources[field].as_ref().or(fragment.dims.first());
            let Some(source) = source.filter(|_| selection.count > 0) else { continue };
            if !source.codec.shape().is_var() {
                let cell_byte_len = source.codec.shape().cell_byte_len();
                let plane = Plane::Fixed;
                self.fetch.tile_byte_len(source, plane, tile.tile_idx, tile.cell_count, cell_byte_len)?;
            }
        }
        Ok(())
    }

    fn fill_plane(
        &self,
        field: usize,
        plane: Plane,
        byte_len: usize,
        tiles: &[TileRef],
        selected: &[Selection],
        mut out: &mut [u8],
    ) -> Result<()> {
        let mut shares: Vec<Share<'_, '_>> = Vec::with_capacity(tiles.len());
        for (tile, selection) in tiles.iter().zip(selected) {
            let (share, rest) = out.split_at_mut(selection.count * byte_len);
            if selection.count > 0 {
                shares.push((tile, selection, share));
            }
            out = rest;
        }
        shares.into_par_iter().try_for_each(|share| {
            self.workspaces.with(|workspace| self.fill_share(field, plane, byte_len, share, workspace))
        })
    }

    fn fill_share(
        &self,
        field: usize,
        plane: Plane,
        byte_len: usize,
        (tile, selection, out): Share<'_, '_>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let SparseField { id, fill, fill_valid, .. } = &self.fields[field];
        let fragment = &self.fragments[tile.fragment_idx];
        let known = match id {
            FieldId::Dimension(dim) => selection.coords[*dim].as_ref(),
            FieldId::Timestamps => selection.timestamps.as_ref(),
            _ => None,
        };
        if let Some(column) = known {
            copy_selected(selection, column.data.as_slice(), byte_len, out);
            return Ok(());
        }
        let Some(source) = &fragment.sources[field] else {
            let time = fragment.fragment.time().start.to_le_bytes();
            let valid = [u8::from(*fill_valid)];
            let value: &[u8] = match (id, plane) {
                (FieldId::Timestamps, _) => &time,
                (_, Plane::Validity) => &valid,
                _ => fill,
            };
            out.chunks_exact_mut(byte_len).for_each(|cell| cell.copy_from_slice(value));
            return Ok(());
        };
        if source.coordinate.is_some() {
            let column = self.fetch.tile(source, tile.tile_idx, tile.cell_count, workspace)?;
            copy_selected(selection, column.data.as_slice(), byte_len, out);
            return Ok(());
        }
        let tile_byte_len = tile.cell_count * byte_len;
        let all = 0..tile_byte_len;
        let Workspace { scratch, filtered, tile: buffer } = workspace;
        if selection.mask.is_none() {
            return self.fetch.bytes(source, plane, tile.tile_idx, &[all], out, (scratch, filtered));
        }
        let buffer = room(buffer, tile_byte_len)?;
        let wanted: Vec<std::ops::Range<usize>> = match &selection.mask {
            Some(mask) if source.codec.data().is_plain() => {
                mask.iter_runs().map(|run| run.start * byte_len..run.end * byte_len).collect()
            }
            Some(mask) => hull(mask.iter_runs())
                .map(|run| run.start * byte_len..run.end * byte_len)
                .into_iter()
                .collect(),
            None => vec![all],
        };
        self.fetch.bytes(source, plane, tile.tile_idx, &wanted, buffer, (scratch, filtered))?;
        copy_selected(selection, buffer, byte_len, out);
        Ok(())
    }

    /// Decodes whole tiles of a field, then copies the wanted cells.
    fn gather_field(&self, field: usize, tiles: &[TileRef], selected: &[Selection]) -> Result<Column> {
        let SparseField { id, shape, fill, fill_valid } = &self.fields[field];
        let decoded: Vec<Option<Column>> = tiles
            .par_iter()
            .zip(selected)
            .map(|(tile, selection)| {
                let is_known = matches!(id, FieldId::Dimension(dim) if selection.coords[*dim].is_some());
                match &self.fragments[tile.fragment_idx].sources[field] {
                    Some(source) if selection.count > 0 && !is_known => {
                        self.tile_column(source, tile).map(Some)
                    }
                    _ => Ok(None),
                }
            })
            .collect::<Result<_>>()?;
        let fill_offsets = [0, fill.len() as u64];
        let fill_validity = [u8::from(*fill_valid)];
        let mut columns: Vec<ColumnRef<'_>> = Vec::with_capacity(tiles.len() + 1);
        let mut runs: Vec<CellRun> = Vec::new();
        let fill_slot = tiles.len() as u32;
        for (slot, ((tile, selection), column)) in tiles.iter().zip(selected).zip(&decoded).enumerate() {
            let known = match id {
                FieldId::Dimension(dim) => selection.coords[*dim].as_ref(),
                _ => None,
            };
            match column.as_ref().or(known) {
                Some(column) => {
                    columns.push(column.as_ref());
                    selection.push_runs(slot as u32, tile.cell_count, &mut runs);
                }
                None => {
                    columns.push(ColumnRef::var(&[], &[0]));
                    runs.extend((0..selection.count).map(|_| CellRun { slot: fill_slot, start: 0, len: 1 }));
                }
            }
        }
        columns.push(ColumnRef::var(fill, &fill_offsets).with_validity(&fill_validity));
        gather(&runs, &columns, *shape)
    }
}

fn hull(runs: impl Iterator<Item = std::ops::Range<usize>>) -> Option<std::ops::Range<usize>> {
    runs.reduce(|all, run| all.start.min(run.start)..all.end.max(run.end))
}

fn copy_selected(selection: &Selection, cells: &[u8], byte_len: usize, out: &mut [u8]) {
    let Some(mask) = &selection.mask else {
        out.copy_from_slice(cells);
        return;
    };
    let mut at = 0;
    for run in mask.iter_runs() {
        let len = (run.end - run.start) * byte_len;
        out[at..at + len].copy_from_slice(&cells[run.start * byte_len..][..len]);
        at += len;
    }
}
