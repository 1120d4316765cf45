//! A dense read divided into parts that follow each other in its order.

use super::boxes::{Axis, Part, slow_to_fast};
use super::plan::{DenseField, DensePlan};
use smalti_types::{Extent, Layout};

/// What a value of any length is taken for: parts are balanced, not measured.
const VAR_BYTE_LEN: u64 = 32;

/// A part of a read by its ranges, and about how many bytes it takes.
pub(crate) type Divided = (Vec<Vec<Extent>>, u64);

impl DensePlan {
    /// Divides the read into at most so many boxes that follow each other, each by its ranges; they begin at borders of tiles where
    /// that is possible. `asked` are the ranges of the read.
    pub(super) fn divided(&self, asked: &[Vec<Extent>], count: usize) -> Vec<Divided> {
        let whole: Part = self.axes.iter().map(|axis| 0..axis.len).collect();
        let layout = match self.layout {
            Layout::GlobalOrder => self.grid.tile_order(),
            layout => layout,
        };
        let order = slow_to_fast(self.axes.len(), layout);
        let mut parts = Vec::new();
        self.divide(whole.clone(), &order, count, &mut parts);
        if parts.is_empty() {
            // Nothing is selected.
            parts.push(whole);
        }
        let ranges = |part: &Part| {
            let one = |(dim, (axis, side)): (usize, (&Axis, &std::ops::Range<u64>))| match asked.get(dim) {
                Some(asked) if *side == (0..axis.len) => asked.clone(),
                _ if *side == (0..axis.len) => Vec::new(),
                _ => axis.cells(side).map(|segment| segment.cells.into()).collect(),
            };
            self.axes.iter().zip(part).enumerate().map(one).collect()
        };
        parts.iter().map(|part| (ranges(part), self.weight(part))).collect()
    }

    fn divide(&self, part: Part, order: &[usize], count: usize, parts: &mut Vec<Part>) {
        let Some((&dim, faster)) = order.split_first().filter(|_| count > 1) else {
            parts.push(part);
            return;
        };
        let axis = &self.axes[dim];
        let is_by_tiles = self.layout == Layout::GlobalOrder;
        let side = part[dim].clone();
        let unit_count = if is_by_tiles { axis.tile_count(&side) } else { side.end - side.start };
        if unit_count >= count as u64 || faster.is_empty() {
            let mut start = side.start;
            for cut in self.cuts(&part, dim, count) {
                let cut = match is_by_tiles {
                    true if axis.border(cut) > start => axis.border(cut),
                    true => axis.next_border(start),
                    false => match axis.border(cut) {
                        border if border > start => border,
                        _ => cut,
                    },
                };
                if cut > start && cut < side.end {
                    parts.push(with(&part, dim, start..cut));
                    start = cut;
                }
            }
            parts.push(with(&part, dim, start..side.end));
            return;
        }
        let mut start = side.start;
        for unit in 0..unit_count as usize {
            let end = if is_by_tiles { axis.next_border(start).min(side.end) } else { start + 1 };
            let units = unit_count as usize;
            let of_unit = count * (unit + 1) / units - count * unit / units;
            self.divide(with(&part, dim, start..end), faster, of_unit, parts);
            start = end;
        }
    }

    /// Where a part is to be cut along a dimension, so that its pieces take about as many bytes each: what is handed out, and what
    /// fragments have of it.
    fn cuts(&self, part: &Part, dim: usize, count: usize) -> Vec<u64> {
        let side = &part[dim];
        let cell_byte_len = self.cell_byte_len() as f64;
        let cross = |part: &Part| {
            let others = part.iter().enumerate().filter(|(other, _)| *other != dim);
            others.map(|(_, side)| (side.end - side.start) as f64).product::<f64>() * cell_byte_len
        };
        let base = if self.is_written_only { 0.0 } else { cross(part) };
        // Where the bytes a position change, and by how many.
        let mut changes: Vec<(u64, f64)> = vec![(side.start, base)];
        for fragment in &self.fragments {
            let Some(met) = self.hull_of(&fragment.rect).and_then(|hull| common(&hull, part)) else {
                continue;
            };
            let of_fragment = cross(&met);
            changes.push((met[dim].start, of_fragment));
            changes.push((met[dim].end, -of_fragment));
        }
        changes.sort_by_key(|change| change.0);
        changes.push((side.end, 0.0));
        let (mut slope, mut total) = (0.0, 0.0);
        for pair in changes.windows(2) {
            slope += pair[0].1;
            total += slope * (pair[1].0 - pair[0].0) as f64;
        }
        let mut cuts = Vec::with_capacity(count.saturating_sub(1).min(1 << 16));
        let (mut slope, mut before) = (0.0, 0.0);
        for pair in changes.windows(2) {
            slope += pair[0].1;
            let len = pair[1].0 - pair[0].0;
            let behind = before + slope * len as f64;
            while cuts.len() + 1 < count && slope > 0.0 {
                let wanted = total * (cuts.len() + 1) as f64 / count as f64;
                if wanted > behind {
                    break;
                }
                let at = ((wanted - before) / slope).ceil();
                cuts.push(pair[0].0 + (at as u64).min(len));
            }
            before = behind;
        }
        cuts
    }

    /// About how many bytes the cells of a part take.
    fn weight(&self, part: &Part) -> u64 {
        let cells = part.iter().fold(1, |cells: u64, side| cells.saturating_mul(side.end - side.start));
        cells.saturating_mul(self.cell_byte_len())
    }

    fn cell_byte_len(&self) -> u64 {
        let of_field = |field: &DenseField| match field {
            DenseField::Attribute { shape, .. } if shape.is_var() => VAR_BYTE_LEN,
            DenseField::Attribute { shape, .. } => {
                shape.cell_byte_len() as u64 + u64::from(shape.is_nullable)
            }
            DenseField::Dimension { datatype, .. } => datatype.byte_len() as u64,
        };
        self.fields.iter().map(of_field).sum::<u64>().max(1)
    }
}

fn with(part: &Part, dim: usize, side: std::ops::Range<u64>) -> Part {
    let mut part = part.clone();
    part[dim] = side;
    part
}

/// What two parts have in common.
fn common(a: &Part, b: &Part) -> Option<Part> {
    let one = |(a, b): (&std::ops::Range<u64>, &std::ops::Range<u64>)| {
        let both = a.start.max(b.start)..a.end.min(b.end);
        (both.start < both.end).then_some(both)
    };
    a.iter().zip(b).map(one).collect()
}
