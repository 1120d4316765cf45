//! What object_store asks of the crate crc-fast: the checksum CRC-64/NVME, which S3 takes in the place of SHA-256.
//!
//! crc-fast itself computes dozens of checksums, chosen as the program runs, and its tables for all of them took 0.65 MB of every
//! program and library (docs/decisions/0023). smalti never asks for this checksum; if it ever does, this one is right.
#![forbid(unsafe_code)]

/// The only checksum that there is here.
#[derive(Clone, Copy, Debug)]
pub enum CrcAlgorithm {
    /// CRC-64/NVME of the NVM Express command set: reflected, begins and ends with all bits inverted.
    Crc64Nvme,
}

/// A checksum of bytes that come piece by piece.
#[derive(Clone, Debug)]
pub struct Digest {
    state: u64,
}

impl Digest {
    /// The checksum of no bytes.
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        let CrcAlgorithm::Crc64Nvme = algorithm;
        Digest { state: u64::MAX }
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let at = (self.state ^ u64::from(*byte)) & 0xff;
            self.state = TABLE[at as usize] ^ (self.state >> 8);
        }
    }

    /// The checksum of the bytes so far.
    pub fn finalize(&self) -> u64 {
        !self.state
    }
}

/// What each byte does to the state.
static TABLE: [u64; 256] = table();

const fn table() -> [u64; 256] {
    /// The polynomial 0xad93d23594c93659, its bits reflected.
    const POLYNOMIAL: u64 = 0x9a6c_9329_ac4b_c9b5;
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            state = if state & 1 == 1 { state >> 1 ^ POLYNOMIAL } else { state >> 1 };
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
        let checksum = |pieces: &[&[u8]]| {
            let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
            pieces.iter().for_each(|piece| digest.update(piece));
            digest.finalize()
        };
        // NVM Express NVM Command Set Specification 1.0d, 5.2.1.3.4; the catalogue of CRC algorithms has the last one.
        assert_eq!(checksum(&[&[0; 4096]]), 0x6482_d367_eb22_b64e);
        assert_eq!(checksum(&[&[0xff; 4096]]), 0xc0dd_ba73_02ec_a3ac);
        assert_eq!(checksum(&[b"1234", b"56789"]), 0xae8b_1486_0a79_9888);
        assert_eq!(checksum(&[]), 0);
    }
}
