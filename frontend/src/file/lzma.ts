// Unpacks raw LZMA, which browsers do not support and which is a fifth smaller than gzip.

/** Bits of the previous byte that select a literal's probabilities; `lc` of the packer, whose `lp`
 * and `pb` are 0. */
const CONTEXT = 4;
/** Where each kind of decision begins in the table of probabilities. */
const IS_MATCH = 0;
const IS_REPEAT = 12;
const IS_OLDER = 24;
const IS_LONG = 36;
const IS_OLDER_THAN_1 = 48;
const IS_OLDER_THAN_2 = 60;
const LENGTH = 72;
const REPEATED_LENGTH = LENGTH + 274;
const SLOTS = REPEATED_LENGTH + 274;
const NEAR = SLOTS + 256;
const ALIGNED = NEAR + 115;
const LITERALS = ALIGNED + 16;

/** The first `size` bytes of the unpacked data. */
export function unpack(packed: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(size);
  const probabilities = new Uint16Array(LITERALS + (0x300 << CONTEXT)).fill(1024);
  const coder = Uint32Array.of(0xffffffff, 0); // range and code
  let next = 1; // the first byte is always 0
  for (; next < 5; next++) coder[1] = ((coder[1] as number) << 8) | (packed[next] as number);

  function narrow(range: number, code: number): void {
    const small = range < 0x1000000;
    coder[0] = small ? range << 8 : range;
    coder[1] = small ? (code << 8) | (packed[next++] as number) : code;
  }

  function bit(at: number): 0 | 1 {
    const probability = probabilities[at] as number;
    const range = coder[0] as number;
    const code = coder[1] as number;
    const bound = (range >>> 11) * probability;
    if (code < bound) {
      probabilities[at] = probability + ((2048 - probability) >>> 5);
      narrow(bound, code);
      return 0;
    }
    probabilities[at] = probability - (probability >>> 5);
    narrow(range - bound, code - bound);
    return 1;
  }

  function tree(base: number, bits: number): number {
    let symbol = 1;
    for (let left = bits; left; left--) symbol = (symbol << 1) | bit(base + symbol);
    return symbol - (1 << bits);
  }

  function reversed(base: number, bits: number): number {
    let symbol = 1;
    let value = 0;
    for (let at = 0; at < bits; at++) {
      const one = bit(base + symbol);
      symbol = (symbol << 1) | one;
      value |= one << at;
    }
    return value;
  }

  function plain(bits: number): number {
    let value = 0;
    for (let left = bits; left; left--) {
      const half = (coder[0] as number) >>> 1;
      const code = coder[1] as number;
      const one = code >= half ? 1 : 0;
      narrow(half, one ? code - half : code);
      value = (value << 1) | one;
    }
    return value;
  }

  function lengthAt(base: number): number {
    if (!bit(base)) return tree(base + 2, 3);
    return bit(base + 1) ? 16 + tree(base + 18, 8) : 8 + tree(base + 10, 3);
  }

  function distanceOf(length: number): number {
    const slot = tree(SLOTS + 64 * Math.min(length, 3), 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const distance = (2 | (slot & 1)) << bits;
    if (slot < 14) return distance + reversed(NEAR + distance - slot, bits);
    return distance + (plain(bits - 4) << 4) + reversed(ALIGNED, 4);
  }

  function literal(at: number, state: number, distance: number): number {
    const base = LITERALS + 0x300 * (at ? (out[at - 1] as number) >> (8 - CONTEXT) : 0);
    let symbol = 1;
    if (state >= 7) {
      let matched = out[at - distance - 1] as number;
      while (symbol < 0x100) {
        const expected = (matched >> 7) & 1;
        matched <<= 1;
        const one = bit(base + ((1 + expected) << 8) + symbol);
        symbol = (symbol << 1) | one;
        if (one !== expected) break;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | bit(base + symbol);
    return symbol;
  }

  let state = 0;
  let [distance, second, third, fourth] = [0, 0, 0, 0];
  for (let at = 0; at < size; ) {
    if (!bit(IS_MATCH + state)) {
      out[at] = literal(at, state, distance);
      at++;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let length = 1;
    if (!bit(IS_REPEAT + state)) {
      [fourth, third, second] = [third, second, distance];
      length = lengthAt(LENGTH);
      distance = distanceOf(length);
      length += 2;
      state = state < 7 ? 7 : 10;
    } else {
      let short = false;
      if (!bit(IS_OLDER + state)) short = !bit(IS_LONG + state);
      else if (!bit(IS_OLDER_THAN_1 + state)) [distance, second] = [second, distance];
      else if (!bit(IS_OLDER_THAN_2 + state)) [distance, second, third] = [third, distance, second];
      else [distance, second, third, fourth] = [fourth, distance, second, third];
      if (!short) length = 2 + lengthAt(REPEATED_LENGTH);
      state = short ? (state < 7 ? 9 : 11) : state < 7 ? 8 : 11;
    }
    for (const end = Math.min(at + length, size); at < end; at++)
      out[at] = out[at - distance - 1] as number;
  }
  return out;
}
