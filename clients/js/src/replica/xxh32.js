/** XXH32, the hash of which checksums are made. SPDX-License-Identifier: Apache-2.0 */

const [p1, p2, p3, p4, p5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1];

/** @param {number} value @param {number} bits */
const rotated = (value, bits) => (value << bits) | (value >>> (32 - bits));

/** @param {Uint8Array} bytes @param {number} at */
const word = (bytes, at) => bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);

/**
 * XXH32 with seed 0, as specified at https://github.com/Cyan4973/xxHash.
 *
 * @param {Uint8Array} bytes
 * @returns {number} 32 bits without sign.
 */
export function xxh32(bytes) {
  const { length } = bytes;
  let at = 0;
  let hash = p5;
  if (length >= 16) {
    const lanes = [(p1 + p2) | 0, p2 | 0, 0, -p1 | 0];
    for (; at + 16 <= length; at += 16) {
      for (let lane = 0; lane < 4; lane++) {
        const mixed = (lanes[lane] + Math.imul(word(bytes, at + 4 * lane), p2)) | 0;
        lanes[lane] = Math.imul(rotated(mixed, 13), p1);
      }
    }
    hash = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
  }
  hash = (hash + length) | 0;
  for (; at + 4 <= length; at += 4) hash = Math.imul(rotated((hash + Math.imul(word(bytes, at), p3)) | 0, 17), p4);
  for (; at < length; at++) hash = Math.imul(rotated((hash + Math.imul(bytes[at], p5)) | 0, 11), p1);
  hash = Math.imul(hash ^ (hash >>> 15), p2);
  hash = Math.imul(hash ^ (hash >>> 13), p3);
  return (hash ^ (hash >>> 16)) >>> 0;
}
