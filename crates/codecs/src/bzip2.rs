//! Bzip2: every part is one bzip2 stream.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the library counts bytes of the slices that it was given; a level is clamped"
)]

use ::bzip2::{Action, Compress, Compression, Decompress, Status};
use smalti_types::{Error, Result};

/// Levels below 1 stand for the default, 1, as in the reference.
fn effective(level: i32) -> u32 {
    level.clamp(1, 9) as u32
}

pub(crate) fn compress(level: i32, part: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let failed = |error| Error::invalid(format!("filter bzip2: {error}"));
    let mut context = Compress::new(Compression::new(effective(level)), 0);
    // The bound that the bzip2 manual gives.
    let mut room = part.len() + part.len() / 100 + 600;
    let mut read = 0;
    loop {
        let start = out.len();
        out.resize(start + room, 0);
        let (read_before, written_before) = (context.total_in(), context.total_out());
        let status = context.compress(&part[read..], &mut out[start..], Action::Finish).map_err(failed)?;
        read += (context.total_in() - read_before) as usize;
        out.truncate(start + (context.total_out() - written_before) as usize);
        if status == Status::StreamEnd {
            return Ok(());
        }
        room = 1024;
    }
}

pub(crate) fn decompress(compressed: &[u8], out: &mut [u8]) -> Result<()> {
    let failed = |error| Error::corrupt(format!("filter bzip2: {error}"));
    let mut context = Decompress::new(false);
    let mut status = context.decompress(compressed, out).map_err(failed)?;
    // The last bytes may be out before the stream's end was read.
    let mut spare = [0; 1];
    while status != Status::StreamEnd {
        let (read, written) = (context.total_in() as usize, context.total_out() as usize);
        let (Some(rest), true) = (compressed.get(read..), written <= out.len()) else { break };
        let target = if written < out.len() { &mut out[written..] } else { &mut spare[..] };
        status = context.decompress(rest, target).map_err(failed)?;
        if context.total_in() as usize == read && context.total_out() as usize == written {
            break;
        }
    }
    if status != Status::StreamEnd {
        return Err(Error::corrupt(format!(
            "filter bzip2: the stream of {} bytes does not end with byte {} of its content",
            compressed.len(),
            out.len()
        )));
    }
    crate::compression::expect_len("bzip2", context.total_out() as usize, out.len())
}
