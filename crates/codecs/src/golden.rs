//! Test support: chunks that the reference library made (`tests/golden`), and damage.

use crate::context::{ChunkContext, ChunkFilter, MetadataReader, PartCodec, StringCodec};
use crate::parts::Parts;
use crate::rle::Rle;
use smalti_types::Datatype;
use std::collections::HashMap;

/// Every integer type of two bytes and more.
pub(crate) const INTEGERS: [Datatype; 6] =
    [Datatype::Int16, Datatype::UInt16, Datatype::Int32, Datatype::UInt32, Datatype::Int64, Datatype::UInt64];

/// One chunk and what went in.
pub(crate) struct Record {
    fields: HashMap<String, String>,
}

impl Record {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).map(String::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> u32 {
        self.text(key).unwrap().parse().unwrap()
    }

    pub(crate) fn bytes(&self, key: &str) -> Vec<u8> {
        let hex = self.text(key).unwrap_or_default().as_bytes();
        hex.chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// The unfiltered bytes.
    fn input(&self) -> Vec<u8> {
        self.bytes("input").repeat(self.text("repeat").map_or(1, |count| count.parse().unwrap()))
    }

    pub(crate) fn context(&self) -> ChunkContext {
        let datatype =
            self.text("datatype").map_or(Datatype::StringAscii, |name| Datatype::from_name(name).unwrap());
        ChunkContext { datatype, cell_byte_len: datatype.byte_len() }
    }

    fn case(&self) -> &str {
        self.text("case").unwrap()
    }
}

/// The records of one filter.
pub(crate) fn records(filter: &str) -> Vec<Record> {
    let path = format!("{}/tests/golden/{filter}.txt", env!("CARGO_MANIFEST_DIR"));
    let records: Vec<Record> = std::fs::read_to_string(path)
        .unwrap()
        .split("\n\n")
        .filter(|block| !block.trim().is_empty())
        .map(|block| Record {
            fields: block
                .lines()
                .map(|line| line.split_once(' ').unwrap_or((line, "")))
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        })
        .collect();
    assert!(records.len() >= 10, "{filter}: only {} records", records.len());
    records
}

/// Encodes and decodes every record of a filter.
pub(crate) fn check_chunk_filter<F: ChunkFilter>(filter: &str, make: impl Fn(&Record) -> F) {
    check_chunk_filter_masked(filter, make, |_, _| ());
}

/// As [`check_chunk_filter`], with `mask` applied to expected and actual metadata before they are compared.
pub(crate) fn check_chunk_filter_masked<F: ChunkFilter>(
    filter: &str,
    make: impl Fn(&Record) -> F,
    mask: impl Fn(&mut [u8], Datatype),
) {
    for record in records(filter) {
        let (context, case) = (record.context(), record.case());
        let mut input = Parts::default();
        if record.text("after") == Some("rle") {
            let values = record.input();
            let mut compressed = Vec::new();
            Rle.compress(&values, &mut compressed, &context).unwrap();
            input.metadata.push(&frame(values.len(), compressed.len()));
            input.data.push(&compressed);
        } else {
            input.data.push(&record.input());
        }
        let filter = make(&record);
        let mut output = Parts::default();
        let result = filter.encode(&input, &mut output, &context);
        if record.text("refused").is_some() {
            assert!(result.is_err(), "{case}: the reference refuses this");
            continue;
        }
        result.unwrap();
        let own_byte_len = record.bytes("metadata").len() - input.metadata.bytes().len();
        let masked = |mut metadata: Vec<u8>| {
            mask(&mut metadata[..own_byte_len], context.datatype);
            metadata
        };
        assert_eq!(
            masked(output.metadata.bytes().to_vec()),
            masked(record.bytes("metadata")),
            "metadata of {case}"
        );
        assert_eq!(output.data.bytes(), record.bytes("data"), "data of {case}");

        let (metadata, data) = (record.bytes("metadata"), record.bytes("data"));
        let mut reader = MetadataReader::new("test", &metadata);
        let byte_len = filter.decoded_len(reader.clone(), &data, &context).unwrap();
        let mut out = vec![0xAA; byte_len];
        filter.decode(&mut reader, &data, &mut out, &context).unwrap();
        assert_eq!(reader.rest(), input.metadata.bytes(), "{case}");
        match record.text("back") {
            Some(_) => assert_eq!(out, record.bytes("back"), "{case}"),
            None => assert_eq!(out, input.data.bytes(), "{case}"),
        }
    }
}

/// Encodes and decodes every record of a compressor.
pub(crate) fn check_part_codec<C: PartCodec>(name: &str, make: impl Fn() -> C) {
    for record in records(name) {
        let (context, case, input) = (record.context(), record.case(), record.input());
        let mut compressed = Vec::new();
        let result = make().compress(&input, &mut compressed, &context);
        if record.text("refused").is_some() {
            assert!(result.is_err(), "{case}: the reference refuses this");
            continue;
        }
        result.unwrap();
        assert_eq!(compressed, record.bytes("data"), "{case}");
        assert_eq!(frame(input.len(), compressed.len()), record.bytes("metadata"), "{case}");
        let mut out = vec![0xAA; input.len()];
        make().decompress(&compressed, &mut out, &context).unwrap();
        assert_eq!(out, input, "{case}");
    }
}

/// The metadata of a compressor on one data part.
fn frame(byte_len: usize, compressed_byte_len: usize) -> Vec<u8> {
    [0, 1, byte_len as u32, compressed_byte_len as u32].into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Encodes and decodes every record of a string codec, and damages some.
pub(crate) fn check_string_codec(name: &str, codec: &impl StringCodec) {
    for record in records(name) {
        let (case, input) = (record.case(), record.input());
        let mut end = 0;
        let mut offsets = Vec::new();
        for len in record.text("lens").unwrap().split(',') {
            offsets.push(end);
            end += len.parse::<u64>().unwrap();
        }
        let mut output = Parts::default();
        codec.encode_strings(&input, &offsets, &mut output).unwrap();
        assert_eq!(output.metadata.bytes(), record.bytes("metadata"), "metadata of {case}");
        assert_eq!(output.data.bytes(), record.bytes("data"), "data of {case}");
        let decoded = decode_strings(codec, output.metadata.bytes(), output.data.bytes());
        assert_eq!(decoded.unwrap(), (input, offsets), "{case}");
        mutations(output.metadata.bytes(), output.data.bytes(), |metadata, data| {
            let _ = decode_strings(codec, metadata, data);
        });
    }
}

fn decode_strings(codec: &impl StringCodec, metadata: &[u8], data: &[u8]) -> Option<(Vec<u8>, Vec<u64>)> {
    let mut reader = MetadataReader::new("test", metadata);
    let (byte_len, count) = codec.decoded_string_lens(reader.clone(), data).ok()?;
    assert!(byte_len <= 100_000_000 && count <= 100_000_000, "lengths are not bounded by the input");
    let (mut out, mut offsets) = (vec![0xAA; byte_len], vec![u64::MAX; count]);
    codec.decode_strings(&mut reader, data, &mut out, &mut offsets).ok()?;
    Some((out, offsets))
}

/// Encodes and decodes bytes as each of the datatypes.
pub(crate) fn check_return(filter: &impl ChunkFilter, bytes: &[u8], datatypes: &[Datatype]) {
    let mut input = Parts::default();
    input.metadata.push(b"of the filter before");
    input.data.push(bytes);
    for &datatype in datatypes {
        let context = ChunkContext { datatype, cell_byte_len: datatype.byte_len() };
        let mut output = Parts::default();
        filter.encode(&input, &mut output, &context).unwrap();
        let mut reader = MetadataReader::new("test", output.metadata.bytes());
        let byte_len = filter.decoded_len(reader.clone(), output.data.bytes(), &context).unwrap();
        let mut out = vec![0xAA; byte_len];
        filter.decode(&mut reader, output.data.bytes(), &mut out, &context).unwrap();
        assert_eq!(out, bytes, "{datatype}");
        assert_eq!(reader.rest(), b"of the filter before");
    }
}

/// Decodes damaged chunks; anything but a panic is right.
pub(crate) fn check_damage(filter: &impl ChunkFilter) {
    for datatype in [Datatype::UInt16, Datatype::Int32, Datatype::Float32, Datatype::Float64, Datatype::Int64]
    {
        let context = ChunkContext { datatype, cell_byte_len: datatype.byte_len() };
        let mut input = Parts::default();
        input.data.push(&(0..200u8).collect::<Vec<_>>());
        let mut output = Parts::default();
        if filter.encode(&input, &mut output, &context).is_err() {
            continue;
        }
        mutations(output.metadata.bytes(), output.data.bytes(), |metadata, data| {
            let mut reader = MetadataReader::new("test", metadata);
            if let Ok(byte_len) = filter.decoded_len(reader.clone(), data, &context) {
                assert!(byte_len <= 8 * data.len(), "{byte_len} bytes are not bounded by the input");
                let _ = filter.decode(&mut reader, data, &mut vec![0; byte_len], &context);
            }
            let _ = filter.decode(&mut MetadataReader::new("test", metadata), data, &mut [0; 200], &context);
        });
    }
}

/// Decompresses damaged parts; anything but a panic is right.
pub(crate) fn check_part_damage(codec: &impl PartCodec) {
    for datatype in [Datatype::Int8, Datatype::UInt16, Datatype::Int32, Datatype::UInt64, Datatype::Char] {
        let context = ChunkContext { datatype, cell_byte_len: datatype.byte_len() };
        let mut compressed = Vec::new();
        codec.compress(&(0..200u8).collect::<Vec<_>>(), &mut compressed, &context).unwrap();
        mutations(&compressed, &[], |compressed, _| {
            for byte_len in [0, 1, 8, 199, 200, 208] {
                let _ = codec.decompress(compressed, &mut vec![0; byte_len], &context);
            }
        });
    }
}

/// Calls `decode` with every prefix of both byte strings, with single bytes changed, and with noise.
fn mutations(metadata: &[u8], data: &[u8], mut decode: impl FnMut(&[u8], &[u8])) {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    for end in (0..metadata.len()).take(300) {
        decode(&metadata[..end], data);
    }
    for end in (0..data.len()).take(300) {
        decode(metadata, &data[..end]);
    }
    for round in 0..600 {
        let (mut metadata, mut data) = (metadata.to_vec(), data.to_vec());
        let target = if round % 2 == 0 || data.is_empty() { &mut metadata } else { &mut data };
        if !target.is_empty() {
            let at = random() % target.len();
            target[at] = if round % 3 == 0 { 0xFF } else { target[at] ^ 1 << (random() % 8) };
        }
        if round % 10 == 0 {
            metadata.iter_mut().for_each(|byte| *byte = random() as u8);
        }
        decode(&metadata, &data);
    }
}
