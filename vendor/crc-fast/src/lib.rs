//! What object_store asks of the crate crc-fast: the checksum CRC-64/NVME, which S3 takes in the place of SHA-256; and what the server s3s of the
//! tests does.
//!
//! crc-fast itself computes dozens of checksums, chosen as the program runs, and its tables for all of them took 0.65 MB of every
//! program and library (docs/decisions/0023). smalti never asks for this checksum; if it ever does, this one is right.
#![forbid(unsafe_code)]

/// The checksums that there are here; all reflected, and beginning and ending with all bits inverted.
#[derive(Clone, Copy, Debug)]
pub enum CrcAlgorithm {
    /// CRC-64/NVME of the NVM Express command set.
    Crc64Nvme,
    /// CRC-32/ISO-HDLC, that of gzip; for the server of the tests.
    Crc32IsoHdlc,
    /// CRC-32/ISCSI, also called CRC-32C; for the server of the tests.
    Crc32Iscsi,
}

/// A checksum of bytes that come piece by piece.
#[derive(Clone, Debug)]
pub struct Digest {
    /// What each byte does to the state.
    table: &'static [u64; 256],
    /// All bits of the checksum.
    mask: u64,
    state: u64,
}

impl Digest {
    /// The checksum of no bytes.
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        let (table, mask) = match algorithm {
            CrcAlgorithm::Crc64Nvme => (&NVME, u64::MAX),
            CrcAlgorithm::Crc32IsoHdlc => (&ISO_HDLC, u64::MAX >> 32),
            CrcAlgorithm::Crc32Iscsi => (&ISCSI, u64::MAX >> 32),
        };
        Digest { table, mask, state: mask }
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let at = (self.state ^ u64::from(*byte)) & 0xff;
            self.state = self.table[at as usize] ^ (self.state >> 8);
        }
    }

    /// The checksum of the bytes so far.
    pub fn finalize(&self) -> u64 {
        self.state ^ self.mask
    }
}

// By the polynomials 0xad93d23594c93659, 0x04c11db7 and 0x1edc6f41, their bits reflected.
static NVME: [u64; 256] = table(0x9a6c_9329_ac4b_c9b5);
static ISO_HDLC: [u64; 256] = table(0xedb8_8320);
static ISCSI: [u64; 256] = table(0x82f6_3b78);

const fn table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            state = if state & 1 == 1 { state >> 1 ^ polynomial } else { state >> 1 };
            bit += 1;
        }
        table[byte] = state;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_specification() {
        let of = |algorithm, pieces: &[&[u8]]| {
            let mut digest = Digest::new(algorithm);
            pieces.iter().for_each(|piece| digest.update(piece));
            digest.finalize()
        };
        let checksum = |pieces: &[&[u8]]| of(CrcAlgorithm::Crc64Nvme, pieces);
        // NVM Express NVM Command Set Specification 1.0d, 5.2.1.3.4; the catalogue of CRC algorithms has the last one.
        assert_eq!(checksum(&[&[0; 4096]]), 0x6482_d367_eb22_b64e);
        assert_eq!(checksum(&[&[0xff; 4096]]), 0xc0dd_ba73_02ec_a3ac);
        assert_eq!(checksum(&[b"1234", b"56789"]), 0xae8b_1486_0a79_9888);
        assert_eq!(checksum(&[]), 0);
        assert_eq!(of(CrcAlgorithm::Crc32IsoHdlc, &[b"123456789"]), 0xcbf4_3926);
        assert_eq!(of(CrcAlgorithm::Crc32Iscsi, &[b"123456789"]), 0xe306_9283);
    }
}
