//! The fields of sort keys: what one dimension adds to a key, and where it goes.

use crate::column::values_of;
use crate::tile_number::{Coordinate, Divisor, TileRule, integer_extent, multiply_high};
use crate::{Interval, OrderDim};

/// A part of a key: `value - base`, at most `range`, in `bits` bits at `shift` from the least significant bit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Field {
    pub(crate) base: u64,
    pub(crate) range: u64,
    pub(crate) bits: u32,
    pub(crate) shift: u32,
}

impl Field {
    pub(crate) fn new(base: u64, range: u64) -> Self {
        Field { base, range, bits: u64::BITS - range.leading_zeros(), shift: 0 }
    }

    /// Its bits, from the least significant on.
    fn mask(&self) -> u64 {
        u64::MAX.checked_shr(u64::BITS - self.bits).unwrap_or(0)
    }
}

/// The fields of one dimension, and how they are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DimPlan {
    pub(crate) rule: TileRule,
    pub(crate) tile: Field,
    pub(crate) cell: Field,
    pub(crate) zero: Option<Field>,
    /// Ordinals of -0.0 and 0.0 in the dimension's type; they differ from each other only in floats.
    pub(crate) zeros: (u64, u64),
}

impl DimPlan {
    pub(crate) fn of_strings() -> Self {
        DimPlan {
            rule: TileRule::One,
            tile: Field::default(),
            cell: Field::default(),
            zero: None,
            zeros: (0, 0),
        }
    }

    /// Takes the coordinates out of the key, because another field orders the cells already.
    pub(crate) fn leave_out(&mut self) {
        self.cell.bits = 0;
    }

    pub(crate) fn new<T: Coordinate>(dim: &OrderDim, bounds: Interval, is_tiled: bool) -> Self {
        let is_float = dim.datatype.is_float();
        let mask = u64::MAX >> (64 - 8 * size_of::<T>() as u32);
        let bounds = Interval { lo: bounds.lo.min(mask), hi: bounds.hi.min(mask) };
        let zeros = if is_float {
            let negative = T::from_ordinal(mask >> 1).ordinal();
            (negative, negative + 1)
        } else {
            (0, 0)
        };
        let merged = |ordinal: u64| if is_float && ordinal == zeros.0 { zeros.1 } else { ordinal };
        let zero = (is_float && bounds.contains(zeros.0)).then(|| Field::new(0, 1));
        let (lo, hi) = (merged(bounds.lo), merged(bounds.hi));
        let whole = DimPlan {
            rule: TileRule::One,
            tile: Field::default(),
            cell: Field::new(lo, hi - lo),
            zero,
            zeros,
        };
        let Some(extent) = dim.extent.filter(|_| is_tiled) else { return whole };
        if is_float {
            let Ok(extent) = extent.cast(dim.datatype) else { return whole };
            let rule = TileRule::Float { lo: dim.domain.lo, extent: extent.ordinal() };
            let (first, last) = (rule.tile::<T>(bounds.lo), rule.tile::<T>(bounds.hi));
            if first >= last {
                return whole;
            }
            return DimPlan { rule, tile: Field::new(first, last - first), ..whole };
        }
        let Some(extent) = integer_extent(extent) else { return whole };
        let rule = TileRule::Integer { lo: dim.domain.lo, mask, extent };
        let (mut first, mut last) = (rule.tile::<T>(bounds.lo), rule.tile::<T>(bounds.hi));
        if bounds.lo < dim.domain.lo {
            // Cells below the domain wrap around to the last tiles.
            (first, last) = (0, mask / extent);
        }
        if first == last {
            return whole;
        }
        DimPlan {
            rule,
            tile: Field::new(first, last - first),
            cell: Field::new(0, (extent - 1).min(mask)),
            ..whole
        }
    }

    /// Puts the fields of some cells into their keys, and says whether all coordinates were inside the bounds.
    pub(crate) fn put<T: Coordinate, S: KeySink>(&self, values: &[u8], sink: &mut S) -> bool {
        let inside = match self.rule {
            TileRule::One => self.put_with::<T, S>(values, sink, |_, merged| (0, merged)),
            TileRule::Float { lo, extent } => {
                let (lo, extent) = (T::from_ordinal(lo), T::from_ordinal(extent));
                self.put_with::<T, S>(values, sink, move |value, merged| {
                    (value.float_tile(lo, extent), merged)
                })
            }
            TileRule::Integer { lo, mask, extent } => {
                let numerator = move |value: T| value.ordinal().wrapping_sub(lo) & mask;
                match Divisor::new(extent, self.greatest_numerator(extent, mask)) {
                    Divisor::Shift(shift) => self.put_with::<T, S>(values, sink, move |value, _| {
                        let x = numerator(value);
                        (x >> shift, x & (extent - 1))
                    }),
                    Divisor::Reciprocal { factor, divisor } => {
                        self.put_with::<T, S>(values, sink, move |value, _| {
                            // A numerator above 32 bits lies outside the bounds and gets a tile outside them.
                            let x = numerator(value);
                            let tile = if x >> 32 == 0 { multiply_high(x, factor) } else { u64::MAX };
                            (tile, x.wrapping_sub(tile.wrapping_mul(divisor)))
                        })
                    }
                    Divisor::Plain(divisor) => self.put_with::<T, S>(values, sink, move |value, _| {
                        let x = numerator(value);
                        (x / divisor, x % divisor)
                    }),
                }
            }
        };
        if let Some(zero) = &self.zero {
            for (cell, value) in values_of::<T>(values).enumerate() {
                sink.put(cell, zero, u64::from(value.ordinal() != self.zeros.0));
            }
        }
        inside
    }

    /// The coordinates that [`put`](DimPlan::put) made some keys of, of which each is one word.
    pub(crate) fn take<T: Coordinate>(&self, keys: impl Iterator<Item = u64>, values: &mut [u8]) {
        let DimPlan { tile, cell, zero, zeros, .. } = *self;
        let of = |key: u64, field: Field| field.base.wrapping_add((key >> (field.shift & 63)) & field.mask());
        let places = values.chunks_exact_mut(size_of::<T>());
        let put = |place: &mut [u8], ordinal: u64| {
            place.copy_from_slice(bytemuck::bytes_of(&T::from_ordinal(ordinal)));
        };
        match (self.rule, zero) {
            (TileRule::Integer { lo, mask, extent }, _) => places.zip(keys).for_each(|(place, key)| {
                let along = of(key, tile).wrapping_mul(extent).wrapping_add(of(key, cell));
                put(place, lo.wrapping_add(along) & mask);
            }),
            (_, Some(zero)) => places.zip(keys).for_each(|(place, key)| {
                put(place, if of(key, zero) == 0 { zeros.0 } else { of(key, cell) });
            }),
            (_, None) => places.zip(keys).for_each(|(place, key)| put(place, of(key, cell))),
        }
    }

    /// The greatest distance from the domain's low end of a coordinate inside the bounds.
    fn greatest_numerator(&self, extent: u64, mask: u64) -> u64 {
        let last_tile = self.tile.base.saturating_add(self.tile.range);
        last_tile.saturating_mul(extent).saturating_add(extent - 1).min(mask)
    }

    /// The loop over some cells, with the computation of tile and coordinate as a closure that the compiler inlines.
    /// The closure is given the value and its ordinal, that of -0.0 replaced by that of 0.0.
    #[inline(always)]
    fn put_with<T: Coordinate, S: KeySink>(
        &self,
        values: &[u8],
        sink: &mut S,
        parts: impl Fn(T, u64) -> (u64, u64),
    ) -> bool {
        let (tile_field, cell_field) = (self.tile, self.cell);
        let has_tiles = tile_field.bits > 0;
        let has_cells = cell_field.bits > 0;
        let is_float = self.zeros.1 != 0;
        let mut is_outside = false;
        for (cell, value) in values_of::<T>(values).enumerate() {
            let ordinal = value.ordinal();
            let ordinal = if is_float { ordinal + u64::from(ordinal == self.zeros.0) } else { ordinal };
            let (tile, along) = parts(value, ordinal);
            let (tile, along) = (tile.wrapping_sub(tile_field.base), along.wrapping_sub(cell_field.base));
            is_outside |= (along > cell_field.range) | (has_tiles & (tile > tile_field.range));
            if has_tiles {
                sink.put(cell, &tile_field, tile);
            }
            if has_cells {
                sink.put(cell, &cell_field, along);
            }
        }
        !is_outside
    }
}

/// Where the fields of keys go.
pub(crate) trait KeySink {
    /// Adds a field to a key in which its bits are still 0.
    fn put(&mut self, cell: usize, field: &Field, value: u64);
}

/// Keys of one machine word.
pub(crate) struct Packed<'a, K> {
    pub(crate) keys: &'a mut [K],
}

impl KeySink for Packed<'_, u64> {
    #[inline(always)]
    fn put(&mut self, cell: usize, field: &Field, value: u64) {
        self.keys[cell] |= value << (field.shift & 63);
    }
}

impl KeySink for Packed<'_, u128> {
    #[inline(always)]
    fn put(&mut self, cell: usize, field: &Field, value: u64) {
        self.keys[cell] |= u128::from(value) << (field.shift & 127);
    }
}

/// Keys of many words.
pub(crate) struct Spread<'a> {
    pub(crate) words: &'a mut [u64],
    pub(crate) width: usize,
}

impl KeySink for Spread<'_> {
    #[inline(always)]
    fn put(&mut self, cell: usize, field: &Field, value: u64) {
        let key = &mut self.words[cell * self.width..(cell + 1) * self.width];
        let word = self.width - 1 - field.shift as usize / 64;
        let bit = field.shift % 64;
        key[word] |= value << bit;
        if bit > 0 && word > 0 {
            key[word - 1] |= value >> (64 - bit);
        }
    }
}

/// The fields of one dimension apart, for byte keys; the shift of a field says which it is.
#[derive(Default)]
pub(crate) struct Fields {
    pub(crate) tile: Vec<u64>,
    pub(crate) cell: Vec<u64>,
    pub(crate) zero: Vec<u64>,
}

pub(crate) const TILE_MARK: u32 = 0;
pub(crate) const CELL_MARK: u32 = 1;
pub(crate) const ZERO_MARK: u32 = 2;

impl KeySink for Fields {
    #[inline(always)]
    fn put(&mut self, cell: usize, field: &Field, value: u64) {
        match field.shift {
            TILE_MARK => self.tile[cell] = value,
            CELL_MARK => self.cell[cell] = value,
            _ => self.zero[cell] = value,
        }
    }
}
