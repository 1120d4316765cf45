//! Whatever a pipeline can encode, it decodes to the same bytes: chains of up to four filters over every datatype, cell
//! size, chunk size and set of rules, on smooth, rising, constant and random values.

use proptest::prelude::*;
use smalti_codecs::{Codec, CodecRules, Encryption, FOLDED_OFFSETS_TILE, FieldKind, Scratch, fuzz};
use smalti_types::{
    CellValNum, Datatype, EncryptionKey, ErrorKind, Filter, FilterPipeline, Physical, dispatch_physical,
};

/// Values of a datatype in one of the shapes that filters are made for.
fn values(datatype: Datatype, count: usize, shape: u8, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let middle = dispatch_physical!(datatype, T => <T as Physical>::ordinal(bytemuck::Zeroable::zeroed()));
    let mut ordinal = middle;
    let mut bytes = Vec::new();
    for index in 0..count as u64 {
        ordinal = match shape % 4 {
            0 => random() & u64::MAX >> (64 - 8 * datatype.byte_len()),
            1 => ordinal.saturating_add(random() % 3),
            2 => middle,
            _ => middle.wrapping_add(index / 7 * 5),
        };
        let greatest = u64::MAX >> (64 - 8 * datatype.byte_len());
        bytes.extend_from_slice(&datatype.bytes_of_ordinal(ordinal.min(greatest)));
    }
    bytes
}

fn is_lossy(pipeline: &FilterPipeline) -> bool {
    pipeline
        .filters
        .iter()
        .any(|filter| matches!(filter, Filter::ScaleFloat(_) | Filter::Webp { lossless: false, .. }))
}

fn offsets_of(byte_len: usize, width: usize, seed: u64) -> Vec<u64> {
    let mut offsets = vec![0];
    let mut at = 0;
    for cell in 0u64.. {
        at += (cell.wrapping_mul(seed | 1) % 11) as usize * width;
        if at >= byte_len {
            break;
        }
        offsets.push(at as u64);
    }
    offsets
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_encodes_decodes_to_the_same(
        configuration in proptest::collection::vec(any::<u8>(), 12),
        cell_count in 0usize..700,
        shape in any::<u8>(),
        seed in any::<u64>(),
    ) {
        let (pipeline, field, ..) = fuzz::configuration(&configuration);
        let Some((codec, _)) = fuzz::codec(&configuration) else { return Ok(()) };
        let values_in_cell = field.cell_byte_len() / field.datatype.byte_len();
        let tile = values(field.datatype, cell_count * values_in_cell, shape, seed);
        let mut scratch = Scratch::new();
        let mut filtered = b"before".to_vec();
        if field.cell_val_num == CellValNum::Var {
            let offsets = offsets_of(tile.len(), field.datatype.byte_len(), seed);
            if let Err(error) = codec.encode_var(&tile, &offsets, &mut filtered, &mut scratch) {
                prop_assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                prop_assert_eq!(filtered, b"before");
                return Ok(());
            }
            if codec.folds_offsets() {
                let (mut decoded, mut starts) = (vec![0; tile.len()], vec![9; offsets.len()]);
                codec.decode_strings(&filtered[6..], &mut decoded, &mut starts, &mut scratch).unwrap();
                prop_assert_eq!(decoded, tile);
                prop_assert_eq!(starts, offsets);
                return Ok(());
            }
        } else if let Err(error) = codec.encode(&tile, &mut filtered, &mut scratch) {
            prop_assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            prop_assert_eq!(filtered, b"before");
            return Ok(());
        }
        prop_assert_eq!(codec.decoded_len(&filtered[6..], u64::MAX).unwrap(), tile.len());
        let mut decoded = vec![0xcc; tile.len()];
        let result = codec.decode_into(&filtered[6..], &mut decoded, &mut scratch);
        // A lossy filter behind a compressor destroys what it is given; that is the user's choice.
        if !is_lossy(&pipeline) {
            result.unwrap();
            prop_assert!(decoded == tile, "{:?}", codec);
            // In pieces too, of which only those come that hold something wanted.
            let cell = [1, field.cell_byte_len().max(1)][usize::from(shape) % 2];
            let at = |of: u64| (seed.rotate_left(9) >> of) as usize % (tile.len() / cell + 1) * cell;
            for wanted in [0..tile.len(), at(0).min(at(20))..at(0).max(at(20))] {
                let (mut seen, mut buffer) = (vec![None; tile.len()], Vec::new());
                let mut last = 0;
                let mut take = |place: std::ops::Range<usize>, bytes: &[u8]| {
                    assert!(last <= place.start && place.start.is_multiple_of(cell) && bytes.len().is_multiple_of(cell));
                    last = place.end;
                    seen[place].iter_mut().zip(bytes).for_each(|(seen, byte)| *seen = Some(*byte));
                    Ok(())
                };
                let part = (wanted.clone(), tile.len());
                codec.decode_pieces(&filtered[6..], part, cell, (&mut buffer, &mut scratch), &mut take).unwrap();
                let bytes: Option<Vec<u8>> = seen[wanted.clone()].iter().copied().collect();
                prop_assert_eq!(bytes.as_deref(), Some(&tile[wanted]));
            }
        }
    }
}

#[test]
fn every_filter_alone_round_trips_on_every_datatype_that_it_accepts() {
    let filters = [
        Filter::None,
        Filter::Gzip { level: -1 },
        Filter::Zstd { level: 3 },
        Filter::Lz4 { level: -1 },
        Filter::Rle { level: -1 },
        Filter::Bzip2 { level: -1 },
        Filter::DoubleDelta { level: -1, reinterpret: None },
        Filter::Delta { level: -1, reinterpret: None },
        Filter::BitWidthReduction { max_window: 256 },
        Filter::PositiveDelta { max_window: 1024 },
        Filter::Bitshuffle,
        Filter::Byteshuffle,
        Filter::Md5,
        Filter::Sha256,
        Filter::Xor,
    ];
    let mut scratch = Scratch::new();
    let mut round_trips = 0;
    for &datatype in Datatype::ALL {
        for filter in filters {
            for max_chunk_size in [0, 10, 96, 65536] {
                let pipeline = FilterPipeline { max_chunk_size, filters: vec![filter] };
                let field = FieldKind::data(datatype, CellValNum::ONE);
                if Codec::check(&pipeline, field).is_err() {
                    continue;
                }
                let codec = Codec::new(&pipeline, field, CodecRules::NEWEST, None).unwrap();
                for shape in 1..4 {
                    let tile = values(datatype, 500, shape, 77);
                    let mut filtered = Vec::new();
                    match codec.encode(&tile, &mut filtered, &mut scratch) {
                        Ok(()) => {}
                        // The reference refuses deltas of text too, and only when it writes.
                        Err(error) => {
                            assert!(
                                matches!(filter.tag(), 6 | 19) && !datatype.is_integer(),
                                "{filter} {datatype} {error}"
                            );
                            continue;
                        }
                    }
                    let mut decoded = vec![0; tile.len()];
                    codec.decode_into(&filtered, &mut decoded, &mut scratch).unwrap();
                    assert!(decoded == tile, "{filter} on {datatype}");
                    round_trips += 1;
                }
            }
        }
    }
    assert!(round_trips > 4000, "{round_trips}");
}

#[test]
fn an_unfiltered_tile_is_framed_as_specified() {
    let pipeline = FilterPipeline { max_chunk_size: 7, filters: vec![] };
    let codec =
        Codec::new(&pipeline, FieldKind::data(Datatype::UInt16, CellValNum::ONE), CodecRules::NEWEST, None)
            .unwrap();
    assert!(codec.is_plain());
    let mut filtered = Vec::new();
    codec.encode(&[1, 2, 3, 4, 5, 6, 7, 8], &mut filtered, &mut Scratch::new()).unwrap();
    #[rustfmt::skip]
    assert_eq!(filtered, [
        2, 0, 0, 0, 0, 0, 0, 0,
        6, 0, 0, 0,  6, 0, 0, 0,  0, 0, 0, 0,  1, 2, 3, 4, 5, 6,
        2, 0, 0, 0,  2, 0, 0, 0,  0, 0, 0, 0,  7, 8,
    ]);
}

#[test]
fn lz4_and_md5_chunks_are_laid_out_as_specified() {
    let field = FieldKind::bytes();
    let lz4 = Filter::Lz4 { level: -1 };
    let encode = |filters: &[Filter]| {
        let codec =
            Codec::new(&FilterPipeline::new(filters.to_vec()), field, CodecRules::NEWEST, None).unwrap();
        let mut filtered = Vec::new();
        codec.encode(b"abc", &mut filtered, &mut Scratch::new()).unwrap();
        filtered
    };
    #[rustfmt::skip]
    assert_eq!(encode(&[lz4]), [
        1, 0, 0, 0, 0, 0, 0, 0,
        3, 0, 0, 0,  4, 0, 0, 0,  16, 0, 0, 0,
        0, 0, 0, 0,  1, 0, 0, 0,                // no metadata parts, one data part
        3, 0, 0, 0,  4, 0, 0, 0,                // original and compressed length
        0x30, b'a', b'b', b'c',                 // three literals
    ]);
    // RFC 1321, appendix A.5: the digest of "abc".
    #[rustfmt::skip]
    assert_eq!(encode(&[Filter::Md5]), [
        1, 0, 0, 0, 0, 0, 0, 0,
        3, 0, 0, 0,  3, 0, 0, 0,  32, 0, 0, 0,
        0, 0, 0, 0,  1, 0, 0, 0,
        3, 0, 0, 0, 0, 0, 0, 0,
        0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0, 0xd6, 0x96, 0x3f, 0x7d, 0x28, 0xe1, 0x7f, 0x72,
        b'a', b'b', b'c',
    ]);
    // A compressor takes earlier metadata into the data, as a part of its own in front.
    let both = encode(&[Filter::Md5, lz4]);
    assert_eq!(both[20..28], [1, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(both[28..32], [32, 0, 0, 0]);
    assert_eq!(both[both.len() - 4..], [0x30, b'a', b'b', b'c']);
}

#[test]
fn metadata_comes_newest_first() {
    let pipeline = FilterPipeline::new([Filter::Byteshuffle, Filter::Sha256]);
    let codec = Codec::new(&pipeline, FieldKind::bytes(), CodecRules::NEWEST, None).unwrap();
    let mut filtered = Vec::new();
    codec.encode(b"abc", &mut filtered, &mut Scratch::new()).unwrap();
    // One metadata part (that of byteshuffle, 8 bytes) and one data part with a digest each, then byteshuffle's own.
    assert_eq!(filtered[20..36], [1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(filtered[filtered.len() - 11..], [1, 0, 0, 0, 3, 0, 0, 0, b'a', b'b', b'c']);
}

#[test]
fn folded_strings_leave_an_empty_offsets_tile() {
    let ascii = FieldKind::data(Datatype::StringAscii, CellValNum::Var);
    let pipeline = FilterPipeline::new([Filter::Dictionary { level: -1 }, Filter::Zstd { level: 3 }]);
    let new = |rules| Codec::new(&pipeline, ascii, rules, None);
    assert!(new(CodecRules::NEWEST).unwrap().folds_offsets());
    assert!(new(CodecRules { dictionary_folds_ascii: false, ..CodecRules::NEWEST }).is_err());
    let rle = FilterPipeline::new([Filter::Rle { level: -1 }]);
    let old = Codec::new(&rle, ascii, CodecRules::OLDEST, None).unwrap();
    assert!(!old.folds_offsets(), "old releases ran rle over the bytes");
    assert_eq!(FOLDED_OFFSETS_TILE, [0; 8]);
}

fn encryption(first: u8) -> Encryption {
    Encryption { key: EncryptionKey::new(&[first; 32]).unwrap(), ..fuzz::fixed_encryption() }
}

#[test]
fn every_flipped_bit_of_an_encrypted_tile_is_noticed() {
    let pipeline = FilterPipeline::new([Filter::Byteshuffle, Filter::Zstd { level: 3 }]);
    let field = FieldKind::data(Datatype::Int32, CellValNum::ONE);
    let key = encryption(1);
    let codec = Codec::new(&pipeline, field, CodecRules::NEWEST, Some(&key)).unwrap();
    let tile = values(Datatype::Int32, 100, 3, 5);
    let (mut filtered, mut scratch, mut out) = (Vec::new(), Scratch::new(), vec![0; tile.len()]);
    codec.encode(&tile, &mut filtered, &mut scratch).unwrap();
    for bit in 0..filtered.len() * 8 {
        let mut damaged = filtered.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(codec.decode_into(&damaged, &mut out, &mut scratch).is_err(), "bit {bit}");
    }
    codec.decode_into(&filtered, &mut out, &mut scratch).unwrap();
    assert_eq!(out, tile);
    let wrong = encryption(2);
    let codec = Codec::new(&pipeline, field, CodecRules::NEWEST, Some(&wrong)).unwrap();
    let error = codec.decode_into(&filtered, &mut out, &mut scratch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(error.to_string().contains("key is wrong"), "{error}");
}

#[test]
fn checksums_notice_every_flipped_bit_of_the_data() {
    for filter in [Filter::Md5, Filter::Sha256] {
        let pipeline = FilterPipeline::new([Filter::Byteshuffle, filter]);
        let codec = Codec::new(&pipeline, FieldKind::offsets(), CodecRules::NEWEST, None).unwrap();
        let (mut filtered, mut scratch) = (Vec::new(), Scratch::new());
        codec.encode(&[5; 80], &mut filtered, &mut scratch).unwrap();
        for bit in 20 * 8..filtered.len() * 8 {
            let mut damaged = filtered.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(codec.decode_into(&damaged, &mut [0; 80], &mut scratch).is_err(), "{filter} bit {bit}");
        }
    }
}

#[test]
fn chunks_must_fill_the_tile_exactly() {
    let codec = Codec::new(&FilterPipeline::default(), FieldKind::bytes(), CodecRules::NEWEST, None).unwrap();
    let (mut filtered, mut scratch) = (Vec::new(), Scratch::new());
    codec.encode(&[7; 100], &mut filtered, &mut scratch).unwrap();
    for wrong in [0, 99, 101] {
        let error = codec.decode_into(&filtered, &mut vec![0; wrong], &mut scratch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    let pieces = |filtered: &[u8], wanted: std::ops::Range<usize>, byte_len| {
        let buffers = (&mut Vec::new(), &mut Scratch::new());
        codec.decode_pieces(filtered, (wanted, byte_len), 1, buffers, &mut |_, _| Ok(()))
    };
    assert!(pieces(&filtered, 0..100, 99).is_err() && pieces(&filtered, 0..101, 101).is_err());
    pieces(&filtered, 0..100, 100).unwrap();
    filtered.push(0);
    assert!(pieces(&filtered, 0..100, 100).is_err());
    assert!(codec.decode_into(&filtered, &mut [0; 100], &mut scratch).is_err());
    assert!(codec.decoded_len(&filtered, 99).is_err());
}

#[test]
fn a_level_that_a_compressor_does_not_know_is_cut_or_refused() {
    let field = FieldKind::bytes();
    for filter in [Filter::Gzip { level: 99 }, Filter::Bzip2 { level: 99 }] {
        assert!(Codec::check(&FilterPipeline::new([filter]), field).is_err());
    }
    for level in [i32::MIN, -1, 0, 22, i32::MAX] {
        for filter in [Filter::Gzip { level }, Filter::Zstd { level }, Filter::Bzip2 { level }] {
            let codec = Codec::new(&FilterPipeline::new([filter]), field, CodecRules::NEWEST, None).unwrap();
            let (mut filtered, mut scratch, mut out) = (Vec::new(), Scratch::new(), [0; 50]);
            codec.encode(&[3; 50], &mut filtered, &mut scratch).unwrap();
            codec.decode_into(&filtered, &mut out, &mut scratch).unwrap();
            assert_eq!(out, [3; 50]);
        }
    }
}
