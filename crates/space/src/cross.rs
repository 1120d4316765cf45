//! Cells that lists of positions select together: every position of one dimension with every one of the others.
//!
//! What several ranges on each dimension of a dense array select of one tile is such a product. With one stretch a dimension it
//! is a box, and [`copy_box`], [`fill_box`] and [`box_runs`](crate::box_runs) do the work.

use crate::{Geometry, box_runs, copy_box, fill_box};
use smalti_types::{Error, Result, Stores};
use std::ops::Range;

/// Neighbouring positions along one dimension, in the destination and in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The first position in the destination.
    pub dst: usize,
    /// The first position in the source.
    pub src: usize,
    /// The number of positions.
    pub len: usize,
}

/// A product of stretches: every position of one dimension with every one of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cross {
    /// Those of the first dimension, then those of the second, and so on.
    stretches: Vec<Stretch>,
    /// Per dimension where its stretches end.
    ends: Vec<usize>,
}

impl Cross {
    /// A product of no dimensions, which are added one by one.
    pub fn new(dim_count: usize) -> Self {
        Cross { stretches: Vec::with_capacity(dim_count), ends: Vec::with_capacity(dim_count) }
    }

    /// Adds the next dimension. Stretches may lie in any order, and in each other in the source.
    pub fn push_side(&mut self, stretches: impl IntoIterator<Item = Stretch>) {
        self.stretches.extend(stretches.into_iter().filter(|stretch| stretch.len > 0));
        self.ends.push(self.stretches.len());
    }

    fn sides(&self) -> impl Iterator<Item = &[Stretch]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.stretches[start..end])
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.sides().any(<[Stretch]>::is_empty)
    }

    /// Whether every dimension has one stretch.
    pub fn is_box(&self) -> bool {
        self.stretches.len() == self.ends.len() && !self.is_empty()
    }

    /// The element of the destination at which the first cell of a box is.
    ///
    /// # Errors
    /// `InvalidArgument` when there is no such element, or the numbers of dimensions differ.
    pub fn first_place(&self, dst_strides: &[usize]) -> Result<usize> {
        self.offset(dst_strides, |stretch| stretch.dst)
    }

    fn offset(&self, strides: &[usize], position: fn(&Stretch) -> usize) -> Result<usize> {
        self.check_dims(strides)?;
        let first = |side: &[Stretch]| side.iter().map(position).min().unwrap_or(0);
        let mut steps = self.sides().zip(strides);
        let offset = steps
            .try_fold(0usize, |offset, (side, &stride)| offset.checked_add(first(side).checked_mul(stride)?));
        offset.ok_or_else(beyond)
    }

    fn check_dims(&self, strides: &[usize]) -> Result<()> {
        match strides.len() == self.ends.len() {
            true => Ok(()),
            false => Err(Error::invalid("stretches and strides differ in their number of dimensions")),
        }
    }

    /// A box in the destination and in the source.
    fn geometries<'s>(
        &self,
        dst_strides: &'s [usize],
        src_strides: &'s [usize],
    ) -> Result<(Geometry<'s>, Geometry<'s>)> {
        let to = Geometry { offset: self.first_place(dst_strides)?, strides: dst_strides };
        let from =
            Geometry { offset: self.offset(src_strides, |stretch| stretch.src)?, strides: src_strides };
        Ok((to, from))
    }

    fn extents(&self) -> Vec<u64> {
        self.stretches.iter().map(|stretch| stretch.len as u64).collect()
    }

    /// Calls `visit` with the destination element, the source element and the length of runs that are contiguous in both.
    ///
    /// # Errors
    /// `InvalidArgument` when the numbers of dimensions differ or the cells exceed the address space; what `visit` returns.
    pub fn for_each_run(
        &self,
        dst_strides: &[usize],
        src_strides: &[usize],
        mut visit: impl FnMut(usize, usize, usize) -> Result<()>,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if self.is_box() {
            let (to, from) = self.geometries(dst_strides, src_strides)?;
            return box_runs(to, from, &self.extents())?.try_for_each(|(dst, src, len)| visit(dst, src, len));
        }
        self.lines(dst_strides, src_strides)?.for_each(visit)
    }

    /// Calls `visit` with the element and the length of runs that are contiguous in the destination.
    ///
    /// # Errors
    /// As [`for_each_run`](Cross::for_each_run).
    pub fn for_each_place(
        &self,
        dst_strides: &[usize],
        mut visit: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        self.mapped(|stretch| Stretch { src: stretch.dst, ..stretch }).for_each_run(
            dst_strides,
            dst_strides,
            |place, _, len| visit(place, len),
        )
    }

    /// The elements of the source that are wanted, in their order, each once, and of gaps between them those of at most `max_gap`
    /// elements: so there are no more runs than the source has such gaps. The source is a dense box with [`strides`](crate::strides)
    /// of some order. The work is of the order of the runs, not of the cells.
    ///
    /// # Errors
    /// As [`for_each_run`](Cross::for_each_run).
    pub fn source_runs(&self, src_strides: &[usize], max_gap: usize) -> Result<Vec<Range<usize>>> {
        self.check_dims(src_strides)?;
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let end = |side: &[Stretch]| {
            side.iter().try_fold(0, |end: usize, one| Some(end.max(one.src.checked_add(one.len)?)))
        };
        let mut reach = self.sides().zip(src_strides);
        reach
            .try_fold(0usize, |reach, (side, &stride)| reach.checked_add(end(side)?.checked_mul(stride)?))
            .ok_or_else(beyond)?;
        let mut dims: Vec<(&[Stretch], usize)> = self.sides().zip(src_strides.iter().copied()).collect();
        dims.sort_by_key(|&(_, stride)| stride);
        // From the fastest dimension on: what each has of the runs of those before it.
        let mut runs = Vec::from([Range { start: 0, end: 1 }]);
        for (side, stride) in dims {
            let mut positions: Vec<Range<usize>> =
                side.iter().map(|one| one.src..one.src + one.len).collect();
            positions.sort_unstable_by_key(|one| one.start);
            positions.dedup_by(|next, last| join(last, next, 0));
            let inner = std::mem::take(&mut runs);
            let mut push = |run: Range<usize>| {
                if !runs.last_mut().is_some_and(|last| join(last, &run, max_gap)) {
                    runs.push(run);
                }
            };
            for positions in positions {
                match inner.as_slice() {
                    // One run a position, and what lies between neighbours is wanted too.
                    [run] if run.start + stride <= run.end.saturating_add(max_gap) => {
                        push(run.start + positions.start * stride..run.end + (positions.end - 1) * stride)
                    }
                    _ => positions.for_each(|position| {
                        let start = position * stride;
                        inner.iter().for_each(|run| push(start + run.start..start + run.end));
                    }),
                }
            }
        }
        Ok(runs)
    }

    fn mapped(&self, stretch: impl Fn(Stretch) -> Stretch) -> Cross {
        let stretches = self.stretches.iter().map(|&one| stretch(one)).collect();
        Cross { stretches, ends: self.ends.clone() }
    }

    /// Copies the cells, of `elem_byte_len` bytes each, as [`copy_box`] does.
    ///
    /// # Errors
    /// `InvalidArgument`, with nothing written, when a cell lies beyond a buffer, the numbers of dimensions differ or cells have
    /// no bytes.
    pub fn copy(
        &self,
        dst: &mut [u8],
        dst_strides: &[usize],
        src: &[u8],
        src_strides: &[usize],
        elem_byte_len: usize,
        stores: Stores,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if self.is_box() {
            let (to, from) = self.geometries(dst_strides, src_strides)?;
            return copy_box(dst, to, src, from, &self.extents(), elem_byte_len, stores);
        }
        let lines = self.lines(dst_strides, src_strides)?;
        lines.check_reach(dst.len().checked_div(elem_byte_len), src.len().checked_div(elem_byte_len))?;
        match elem_byte_len {
            1 => lines.copy::<1>(dst, src),
            2 => lines.copy::<2>(dst, src),
            4 => lines.copy::<4>(dst, src),
            8 => lines.copy::<8>(dst, src),
            16 => lines.copy::<16>(dst, src),
            byte_len => lines.for_each(|to, from, len| {
                let bytes = &src[from * byte_len..(from + len) * byte_len];
                dst[to * byte_len..(to + len) * byte_len].copy_from_slice(bytes);
                Ok(())
            }),
        }
    }

    /// As [`copy`](Cross::copy), of those cells alone that a part of the source has: `part` are whole elements, the first of them the
    /// source's `first`. The source is a dense box of `src_extents`, with [`strides`](crate::strides) of some order.
    ///
    /// # Errors
    /// As [`copy`](Cross::copy), with nothing written of a block of whole rows, planes and so on of the part.
    pub fn copy_part(
        &self,
        (dst, dst_strides): (&mut [u8], &[usize]),
        (part, first): (&[u8], usize),
        (src_extents, src_strides): (&[usize], &[usize]),
        elem_byte_len: usize,
        stores: Stores,
    ) -> Result<()> {
        self.check_dims(src_extents)?;
        self.check_dims(src_strides)?;
        let end = part.len().checked_div(elem_byte_len).and_then(|count| first.checked_add(count));
        let end = end.ok_or_else(beyond)?;
        let mut order: Vec<usize> = (0..src_strides.len()).collect();
        // Of those with the same step only one has more than one position.
        order.sort_by_key(|&dim| std::cmp::Reverse((src_strides[dim], src_extents[dim])));
        let mut block: Vec<Range<usize>> = src_extents.iter().map(|&extent| 0..extent).collect();
        each_block(&order, (src_extents, src_strides), first..end, &mut block, &mut |block| {
            let start =
                block.iter().zip(src_strides).map(|(side, stride)| side.start * stride).sum::<usize>();
            let cells = self.inside(block);
            let bytes = part.get((start - first) * elem_byte_len..).unwrap_or_default();
            cells.copy(dst, dst_strides, bytes, src_strides, elem_byte_len, stores)
        })
    }

    /// The cells that come from a block of the source, their places in it counted from where it begins.
    fn inside(&self, block: &[Range<usize>]) -> Cross {
        let mut cells = Cross::new(block.len());
        for (side, block) in self.sides().zip(block) {
            cells.push_side(side.iter().map(|stretch| {
                let start = stretch.src.max(block.start);
                let end = (stretch.src + stretch.len).min(block.end);
                let skipped = start - stretch.src;
                Stretch {
                    dst: stretch.dst + skipped,
                    src: start - block.start,
                    len: end.saturating_sub(start),
                }
            }));
        }
        cells
    }

    /// Sets every cell of the destination to `pattern`, whose length is the cell's.
    ///
    /// # Errors
    /// As [`copy`](Cross::copy).
    pub fn fill(&self, dst: &mut [u8], dst_strides: &[usize], pattern: &[u8]) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if self.is_box() {
            let to = Geometry { offset: self.first_place(dst_strides)?, strides: dst_strides };
            return fill_box(dst, to, &self.extents(), pattern);
        }
        let places = self.mapped(|stretch| Stretch { src: stretch.dst, ..stretch });
        let lines = places.lines(dst_strides, dst_strides)?;
        let elem_count = dst.len().checked_div(pattern.len());
        lines.check_reach(elem_count, elem_count)?;
        lines.for_each(|to, _, len| {
            let cells = dst[to * pattern.len()..(to + len) * pattern.len()].chunks_exact_mut(pattern.len());
            cells.for_each(|cell| cell.copy_from_slice(pattern));
            Ok(())
        })
    }

    /// The cells as lines along the dimension that is fastest in the destination.
    fn lines(&self, dst_strides: &[usize], src_strides: &[usize]) -> Result<Lines> {
        self.check_dims(dst_strides)?;
        self.check_dims(src_strides)?;
        let mut dims: Vec<(&[Stretch], usize, usize)> = self
            .sides()
            .zip(dst_strides)
            .zip(src_strides)
            .map(|((side, &dst), &src)| (side, dst, src))
            .collect();
        // A dimension of one position only moves the others.
        let moves_only = |side: &[Stretch]| matches!(side, [Stretch { len: 1, .. }]);
        dims.sort_by_key(|(side, dst, _)| (!moves_only(side), std::cmp::Reverse(*dst)));
        let Some((&(line, dst_step, src_step), outer)) = dims.split_last() else {
            return Ok(Lines { outer: Vec::new(), line: vec![Stretch { dst: 0, src: 0, len: 1 }] });
        };
        let scaled = |stretch: &Stretch, dst_step: usize, src_step: usize| {
            let last = stretch.len - 1;
            stretch.dst.checked_add(last)?.checked_mul(dst_step)?;
            stretch.src.checked_add(last)?.checked_mul(src_step)?;
            Some((stretch.dst * dst_step, stretch.src * src_step))
        };
        let singles = |side: &[Stretch], dst_step: usize, src_step: usize| {
            let mut cells = Vec::with_capacity(side.iter().map(|stretch| stretch.len).sum());
            for stretch in side {
                let (dst, src) = scaled(stretch, dst_step, src_step)?;
                cells.extend((0..stretch.len).map(|at| Stretch {
                    dst: dst + at * dst_step,
                    src: src + at * src_step,
                    len: 1,
                }));
            }
            Some(cells)
        };
        let outer = outer.iter().map(|(side, dst_step, src_step)| singles(side, *dst_step, *src_step));
        let outer = outer.collect::<Option<Vec<_>>>().ok_or_else(beyond)?;
        let line = match dst_step == 1 && src_step == 1 {
            true => line
                .iter()
                .map(|stretch| scaled(stretch, 1, 1).map(|(dst, src)| Stretch { dst, src, len: stretch.len }))
                .collect::<Option<Vec<_>>>(),
            false => singles(line, dst_step, src_step),
        };
        Ok(Lines { outer, line: line.ok_or_else(beyond)? })
    }
}

/// Calls `visit` with blocks that are together the elements of a range of a dense box, one behind the other: a row that begins in its
/// middle, whole rows, a row that ends in its middle, and so for planes and on. `order` has the dimensions, the slowest first; `block` has
/// all positions of those in it, and gets them back.
fn each_block(
    order: &[usize],
    (extents, strides): (&[usize], &[usize]),
    range: Range<usize>,
    block: &mut [Range<usize>],
    visit: &mut dyn FnMut(&[Range<usize>]) -> Result<()>,
) -> Result<()> {
    let Some((&dim, inner)) = order.split_first() else { return visit(block) };
    let stride = strides[dim].max(1);
    if range.end.div_ceil(stride) > extents[dim] {
        return Err(Error::invalid("a part reaches beyond the box that it is of"));
    }
    let (mut at, whole_end) = (range.start, range.end / stride);
    while at < range.end {
        let row = at / stride;
        if at == row * stride && row < whole_end {
            block[dim] = row..whole_end;
            visit(block)?;
            at = whole_end * stride;
        } else {
            let end = range.end.min((row + 1) * stride);
            block[dim] = row..row + 1;
            let within = at - row * stride..end - row * stride;
            each_block(inner, (extents, strides), within, block, visit)?;
            at = end;
        }
    }
    block[dim] = 0..extents[dim];
    Ok(())
}

/// Makes one range of two, when the second begins at most `max_gap` behind the end of the first.
fn join(last: &mut Range<usize>, next: &Range<usize>, max_gap: usize) -> bool {
    let joins = next.start <= last.end.saturating_add(max_gap);
    last.end = if joins { last.end.max(next.end) } else { last.end };
    joins
}

fn beyond() -> Error {
    Error::invalid("the cells exceed the address space")
}

/// A product in elements instead of positions.
struct Lines {
    /// Of every dimension but the last the elements of its positions.
    outer: Vec<Vec<Stretch>>,
    /// The runs along the last one.
    line: Vec<Stretch>,
}

impl Lines {
    fn check_reach(&self, dst_len: Option<usize>, src_len: Option<usize>) -> Result<()> {
        let last = |end: fn(&Stretch) -> usize| {
            let mut sides = self.outer.iter().chain([&self.line]);
            sides.try_fold(0usize, |last, side| last.checked_add(side.iter().map(end).max()?))
        };
        let reaches =
            |last: Option<usize>, len: Option<usize>| last.zip(len).is_some_and(|(last, len)| last < len);
        if reaches(last(|stretch| stretch.dst + stretch.len - 1), dst_len)
            && reaches(last(|stretch| stretch.src + stretch.len - 1), src_len)
        {
            return Ok(());
        }
        Err(Error::invalid("the cells reach beyond a buffer, or have no bytes"))
    }

    #[inline(always)]
    fn for_each(&self, mut visit: impl FnMut(usize, usize, usize) -> Result<()>) -> Result<()> {
        let mut at = vec![0; self.outer.len()];
        loop {
            let (mut dst, mut src) = (0usize, 0usize);
            for (positions, &at) in self.outer.iter().zip(&at) {
                // Wraps only where nobody has buffers that hold the cells.
                dst = dst.wrapping_add(positions[at].dst);
                src = src.wrapping_add(positions[at].src);
            }
            for run in &self.line {
                visit(dst.wrapping_add(run.dst), src.wrapping_add(run.src), run.len)?;
            }
            let stepped = at.iter_mut().zip(&self.outer).rev().any(|(at, positions)| {
                *at = (*at + 1) % positions.len();
                *at > 0
            });
            if !stepped {
                return Ok(());
            }
        }
    }

    fn copy<const N: usize>(&self, dst: &mut [u8], src: &[u8]) -> Result<()> {
        let (dst, src) = (dst.as_chunks_mut::<N>().0, src.as_chunks::<N>().0);
        self.for_each(|to, from, len| {
            if len == 1 {
                dst[to] = src[from];
            } else {
                dst[to..to + len].copy_from_slice(&src[from..from + len]);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strides;
    use proptest::prelude::*;
    use smalti_types::Layout;

    fn side() -> impl Strategy<Value = Vec<(usize, usize)>> {
        prop::collection::vec((0usize..5, 1usize..4), 1..4)
    }

    /// The stretches of a side: those of the source as given, in the destination one after the other.
    fn stretches(side: &[(usize, usize)]) -> Vec<Stretch> {
        let mut dst = 0;
        let next = |&(src, len): &(usize, usize)| {
            dst += len;
            Stretch { dst: dst - len, src, len }
        };
        side.iter().map(next).collect()
    }

    proptest! {
        #[test]
        fn every_cell_comes_from_its_place(
            sides in prop::collection::vec(side(), 1..4),
            layouts in prop::collection::vec(prop::bool::ANY, 2),
            byte_len in 1usize..10,
            max_gap in 0usize..9,
            part_lens in prop::collection::vec(1usize..40, 0..9),
            spare in prop::collection::vec(0u64..3, 3),
        ) {
            let layout = |is_row: bool| if is_row { Layout::RowMajor } else { Layout::ColMajor };
            let sides: Vec<Vec<Stretch>> = sides.iter().map(|side| stretches(side)).collect();
            let mut cross = Cross::new(sides.len());
            sides.iter().for_each(|side| cross.push_side(side.iter().copied()));
            let dst_shape: Vec<u64> =
                sides.iter().map(|side| side.iter().map(|one| one.len as u64).sum()).collect();
            let needed = |side: &Vec<Stretch>| side.iter().map(|one| one.src + one.len).max().unwrap_or(1) as u64;
            let src_shape: Vec<u64> = sides.iter().zip(&spare).map(|(side, spare)| needed(side) + spare).collect();
            let to = strides(&dst_shape, layout(layouts[0])).unwrap();
            let from = strides(&src_shape, layout(layouts[1])).unwrap();
            let cell_count = dst_shape.iter().product::<u64>() as usize;
            let src: Vec<u8> = (0..src_shape.iter().product::<u64>() as usize * byte_len).map(|at| (at * 7 + 3) as u8).collect();
            // Cell by cell.
            let mut expected = vec![0u8; cell_count * byte_len];
            let mut wanted = vec![false; src.len() / byte_len];
            for cell in 0..cell_count {
                let (mut rest, mut d, mut s) = (cell as u64, 0, 0);
                for (dim, side) in sides.iter().enumerate() {
                    let position = (rest % dst_shape[dim]) as usize;
                    rest /= dst_shape[dim];
                    let one = side.iter().find(|one| (one.dst..one.dst + one.len).contains(&position)).unwrap();
                    d += position * to[dim];
                    s += (one.src + position - one.dst) * from[dim];
                }
                expected[d * byte_len..][..byte_len].copy_from_slice(&src[s * byte_len..][..byte_len]);
                wanted[s] = true;
            }
            let mut dst = vec![0u8; expected.len()];
            cross.copy(&mut dst, &to, &src, &from, byte_len, Stores::PastCaches).unwrap();
            prop_assert_eq!(&dst, &expected);
            // In parts of the source, wherever they end.
            let mut parted = vec![0u8; expected.len()];
            let src_extents: Vec<usize> = src_shape.iter().map(|&extent| extent as usize).collect();
            let mut first = 0;
            for len in part_lens.iter().copied().chain([src.len()]) {
                let bytes = &src[first * byte_len..][..(len * byte_len).min(src.len() - first * byte_len)];
                cross.copy_part((&mut parted, &to), (bytes, first), (&src_extents, &from), byte_len, Stores::PastCaches).unwrap();
                first += bytes.len() / byte_len;
            }
            prop_assert_eq!(&parted, &expected);
            prop_assert!(cross.copy_part((&mut parted, &to), (&src, 1), (&src_extents, &from), byte_len, Stores::PastCaches).is_err());
            let mut runs = vec![0u8; expected.len()];
            cross.for_each_run(&to, &from, |d, s, len| {
                let bytes = &src[s * byte_len..][..len * byte_len];
                runs[d * byte_len..][..len * byte_len].copy_from_slice(bytes);
                Ok(())
            }).unwrap();
            prop_assert_eq!(&runs, &expected);
            let mut filled = vec![0u8; expected.len()];
            cross.fill(&mut filled, &to, &src[..byte_len]).unwrap();
            prop_assert!(filled.chunks(byte_len).all(|cell| cell == &src[..byte_len]));
            let mut count = 0;
            cross.for_each_place(&to, |_, len| { count += len; Ok(()) }).unwrap();
            prop_assert_eq!(count, cell_count);
            // Gaps that are not wanted stay, unless they are small.
            let runs = cross.source_runs(&from, max_gap).unwrap();
            prop_assert!(runs.is_sorted_by(|a, b| a.end + max_gap < b.start));
            for (run, behind) in runs.iter().zip(runs.iter().skip(1).map(|run| run.start).chain([wanted.len()])) {
                prop_assert!(wanted[run.start] && wanted[run.end - 1] && !wanted[run.end..behind].contains(&true));
                let longest_gap = wanted[run.clone()].split(|&is_wanted| is_wanted).map(<[bool]>::len).max();
                prop_assert!(longest_gap <= Some(max_gap));
            }
            prop_assert!(!wanted[..runs[0].start].contains(&true));
            // Beyond the buffers nothing is written.
            let mut short = vec![0u8; expected.len() - 1];
            prop_assert!(cross.copy(&mut short, &to, &src, &from, byte_len, Stores::PastCaches).is_err());
            prop_assert!(short.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn runs_beyond_the_address_space_are_refused() {
        let of = |stretches: [Stretch; 2], stride: usize| {
            let mut cross = Cross::new(1);
            cross.push_side(stretches);
            cross.source_runs(&[stride], 0)
        };
        let at = |src: usize| Stretch { dst: 0, src, len: 2 };
        assert_eq!(of([at(7), at(3)], 1).unwrap(), [3..5, 7..9]);
        for (stretches, stride) in [([at(3), at(usize::MAX)], 1), ([at(3), at(7)], usize::MAX)] {
            assert_eq!(of(stretches, stride).unwrap_err().kind(), smalti_types::ErrorKind::InvalidArgument);
        }
    }

    #[test]
    fn a_side_without_positions_leaves_nothing() {
        let mut cross = Cross::new(2);
        cross.push_side([Stretch { dst: 0, src: 0, len: 2 }]);
        cross.push_side([]);
        assert!(cross.is_empty() && !cross.is_box());
        cross.fill(&mut [], &[1, 1], &[1]).unwrap();
        cross.for_each_place(&[1, 1], |_, _| unreachable!()).unwrap();
    }
}
