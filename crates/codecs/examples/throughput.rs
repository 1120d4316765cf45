//! Prints how many gigabytes a second the common pipelines encode and decode on one thread: smooth float32 and int32 data
//! in 64 KiB chunks. `cargo run --release --example throughput`

use smalti_codecs::{Codec, CodecRules, FieldKind, Scratch};
use smalti_types::{CellValNum, Datatype, Filter, FilterPipeline};
use std::time::Instant;

const VALUE_COUNT: usize = 4 << 20;

fn main() {
    let float: Vec<u8> = (0..VALUE_COUNT).flat_map(|i| smooth(i).to_le_bytes()).collect();
    let int: Vec<u8> = (0..VALUE_COUNT).flat_map(|i| ((smooth(i) * 1000.0) as i32).to_le_bytes()).collect();
    let bits = Filter::BitWidthReduction { max_window: 256 };
    let double_delta = Filter::DoubleDelta { level: -1, reinterpret: None };
    let lz4 = Filter::Lz4 { level: -1 };
    let pipelines: [(&str, Datatype, &[u8], Vec<Filter>); 13] = [
        ("none", Datatype::Float32, &float, vec![]),
        ("zstd 3", Datatype::Float32, &float, vec![Filter::Zstd { level: 3 }]),
        ("zstd -1", Datatype::Float32, &float, vec![Filter::Zstd { level: -1 }]),
        ("lz4", Datatype::Float32, &float, vec![lz4]),
        ("gzip", Datatype::Float32, &float, vec![Filter::Gzip { level: -1 }]),
        ("byteshuffle", Datatype::Float32, &float, vec![Filter::Byteshuffle]),
        ("byteshuffle lz4", Datatype::Float32, &float, vec![Filter::Byteshuffle, lz4]),
        ("bitshuffle lz4", Datatype::Float32, &float, vec![Filter::Bitshuffle, lz4]),
        ("bit width", Datatype::Int32, &int, vec![bits]),
        ("bit width zstd 3", Datatype::Int32, &int, vec![bits, Filter::Zstd { level: 3 }]),
        ("double delta", Datatype::Int32, &int, vec![double_delta]),
        ("delta", Datatype::Int32, &int, vec![Filter::Delta { level: -1, reinterpret: None }]),
        ("sha256", Datatype::Int32, &int, vec![Filter::Sha256]),
    ];
    println!("{:<20} {:>12} {:>12} {:>8}", "pipeline", "encode GB/s", "decode GB/s", "ratio");
    for (name, datatype, bytes, filters) in pipelines {
        let field = FieldKind::data(datatype, CellValNum::ONE);
        let codec = Codec::new(&FilterPipeline::new(filters), field, CodecRules::NEWEST, None)
            .expect("the pipeline is valid");
        measure(name, &codec, bytes);
    }
}

fn smooth(index: usize) -> f32 {
    let (x, y) = ((index % 2048) as f32, (index / 2048) as f32);
    (x / 97.0).sin() * (y / 53.0).cos() * 100.0 + (index * 7919 % 13) as f32 * 0.01
}

/// The best of several rounds over tiles of 1 MiB.
fn measure(name: &str, codec: &Codec, bytes: &[u8]) {
    let mut scratch = Scratch::new();
    let mut filtered = vec![Vec::new(); bytes.len().div_ceil(1 << 20)];
    let mut decoded = vec![0; 1 << 20];
    let [mut encode, mut decode] = [f64::INFINITY; 2];
    for _ in 0..4 {
        let start = Instant::now();
        for (tile, out) in bytes.chunks(1 << 20).zip(&mut filtered) {
            out.clear();
            codec.encode(tile, out, &mut scratch).expect("the values fit");
        }
        encode = encode.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        for (tile, out) in bytes.chunks(1 << 20).zip(&filtered) {
            codec.decode_into(out, &mut decoded[..tile.len()], &mut scratch).expect("the bytes are sound");
        }
        decode = decode.min(start.elapsed().as_secs_f64());
    }
    let stored: usize = filtered.iter().map(Vec::len).sum();
    let rate = |seconds: f64| bytes.len() as f64 / 1e9 / seconds;
    println!(
        "{name:<20} {:>12.2} {:>12.2} {:>8.2}",
        rate(encode),
        rate(decode),
        bytes.len() as f64 / stored as f64
    );
}
