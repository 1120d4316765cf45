//! Buffers of the caller, and how offsets look in them.

use crate::boundary::memory::Buffer;
use crate::config::Config;
use crate::failure::{Fallible, fail};
use crate::values::{count, index};

/// The buffers of a field, and how long they are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Buffers {
    pub(super) data: Option<Buffer>,
    pub(super) offsets: Option<Buffer>,
    pub(super) validity: Option<Buffer>,
    pub(super) data_room: u64,
    pub(super) offsets_room: u64,
    pub(super) validity_room: u64,
}

impl Buffers {
    /// Notes how much room there is.
    pub(super) fn measure(&mut self) {
        self.data_room = self.data.map_or(0, |data| data.byte_len());
        self.offsets_room = self.offsets.map_or(0, |offsets| offsets.byte_len());
        self.validity_room = self.validity.map_or(0, |validity| validity.byte_len());
    }
}

/// How offsets look in the caller's buffers.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffsetForm {
    /// Whether they are of 32 bits, not 64.
    pub(super) is_narrow: bool,
    /// Whether they count values, not bytes.
    pub(super) counts_values: bool,
    /// Whether the end of the last cell stands behind them.
    pub(super) extra: bool,
}

impl OffsetForm {
    pub(super) fn of(config: &Config) -> Fallible<OffsetForm> {
        Ok(OffsetForm {
            is_narrow: match config.own("sm.var_offsets.bitsize").as_str() {
                "64" => false,
                "32" => true,
                other => {
                    return fail(
                        "Query",
                        format!("Cannot initialize; Unsupported offsets bitsize {other} in configuration"),
                    );
                }
            },
            counts_values: config.own("sm.var_offsets.mode") == "elements",
            extra: config.flag("sm.var_offsets.extra_element")?,
        })
    }

    /// Bytes of an offset.
    pub(super) fn width(self) -> usize {
        if self.is_narrow { 4 } else { 8 }
    }

    /// How many offsets there are places for.
    pub(super) fn slots(self, buffers: &Buffers) -> usize {
        index(buffers.offsets_room) / self.width()
    }

    /// The places for so many offsets, if they look like those of the engine.
    pub(super) fn wide(self, offsets: &mut Option<Buffer>, slots: usize) -> Option<&mut [u64]> {
        if self.is_narrow {
            return None;
        }
        let bytes = offsets.as_mut()?.bytes_mut(count(slots * self.width()));
        bytemuck::try_cast_slice_mut(bytes).ok()
    }

    /// Puts the offset of a cell, given in bytes, in its place.
    pub(super) fn put(self, target: &mut [u8], idx: usize, byte_offset: u64, value_len: u64) {
        let value = if self.counts_values { byte_offset / value_len.max(1) } else { byte_offset };
        let at = idx.saturating_mul(self.width());
        let wide = value.to_ne_bytes();
        let narrow = u32::try_from(value).unwrap_or(u32::MAX).to_ne_bytes();
        let bytes: &[u8] = if self.is_narrow { &narrow } else { &wide };
        if let Some(place) = target.get_mut(at..at.saturating_add(bytes.len())) {
            place.copy_from_slice(bytes);
        }
    }

    /// The offsets in bytes that a caller gives.
    pub(super) fn read(self, bytes: &[u8], value_len: u64) -> Vec<u64> {
        let unit = if self.counts_values { value_len } else { 1 };
        let wide = |chunk: &[u8]| chunk.try_into().map_or(0, u64::from_ne_bytes);
        let narrow = |chunk: &[u8]| chunk.try_into().map_or(0, u32::from_ne_bytes).into();
        let values = bytes.chunks_exact(self.width());
        values
            .map(|chunk| if self.is_narrow { narrow(chunk) } else { wide(chunk) })
            .map(|value: u64| value.saturating_mul(unit))
            .collect()
    }
}
