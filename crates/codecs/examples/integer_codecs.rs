//! Prints how fast each integer filter encodes and decodes, alone in a pipeline, in GB of unfiltered bytes a second.
//!
//!     cargo run --release -p smalti-codecs --example integer_codecs

use smalti_codecs::{Codec, CodecRules, FieldKind, Scratch};
use smalti_types::{CellValNum, Datatype, Filter, FilterPipeline, FloatScale, Result, ScaleWidth};
use std::hint::black_box;
use std::time::{Duration, Instant};

const TILE_BYTE_LEN: usize = 1 << 20;

fn main() -> Result<()> {
    use Datatype::*;
    let scale = |width| Filter::ScaleFloat(FloatScale { factor: 0.01, offset: 1.0, width });
    let integers: &[Datatype] = &[UInt8, Int16, Int32, Int64];
    let wide: &[Datatype] = &[Int16, UInt32, Int64];
    let floats: &[Datatype] = &[Float32, Float64];
    let cases = [
        (Filter::Byteshuffle, &[Int16, Int32, Int64][..]),
        (Filter::Bitshuffle, integers),
        (Filter::Xor, integers),
        (Filter::Delta { level: -1, reinterpret: None }, integers),
        (Filter::DoubleDelta { level: -1, reinterpret: None }, integers),
        (Filter::BitWidthReduction { max_window: 256 }, wide),
        (Filter::PositiveDelta { max_window: 1024 }, wide),
        (scale(ScaleWidth::Two), floats),
        (scale(ScaleWidth::Eight), floats),
        (Filter::Rle { level: -1 }, integers),
    ];
    println!("{:<24}{:<10}{:>10}{:>10}{:>10}", "filter", "type", "encode", "decode", "size");
    for (filter, datatypes) in cases {
        for &datatype in datatypes {
            let tile = rising(datatype);
            let field = FieldKind::data(datatype, CellValNum::ONE);
            let codec = Codec::new(&FilterPipeline::new([filter]), field, CodecRules::NEWEST, None)?;
            let (mut filtered, mut decoded) = (Vec::new(), vec![0; tile.len()]);
            let mut scratch = Scratch::new();
            let encode = fastest(|| {
                filtered.clear();
                codec.encode(black_box(&tile), &mut filtered, &mut scratch)
            })?;
            let decode = fastest(|| codec.decode_into(black_box(&filtered), &mut decoded, &mut scratch))?;
            let speed = |time: Duration| tile.len() as f64 / time.as_secs_f64() / 1e9;
            println!(
                "{:<24}{:<10}{:>10.2}{:>10.2}{:>9.0}%",
                filter.name(),
                datatype.name(),
                speed(encode),
                speed(decode),
                100.0 * filtered.len() as f64 / tile.len() as f64
            );
        }
    }
    Ok(())
}

/// A tile of slowly rising values with a little noise; bytes repeat in runs.
fn rising(datatype: Datatype) -> Vec<u8> {
    let width = datatype.byte_len();
    (0..(TILE_BYTE_LEN / width) as u64)
        .flat_map(|i| {
            let value = match width {
                1 => i >> 4,
                2 => i >> 5,
                _ => i * 3 + (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63),
            };
            match datatype {
                Datatype::Float32 => (value as f32 / 64.0).to_le_bytes().to_vec(),
                Datatype::Float64 => (value as f64 / 64.0).to_le_bytes().to_vec(),
                _ => value.to_le_bytes()[..width].to_vec(),
            }
        })
        .collect()
}

fn fastest(mut run: impl FnMut() -> Result<()>) -> Result<Duration> {
    run()?;
    let mut best = Duration::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}
