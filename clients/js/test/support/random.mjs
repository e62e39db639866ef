import { randomInt } from 'node:crypto';

/** The seed of all random tests: `FEEDSTORE_SEED`, or a new one each time. It is printed, to reproduce a failure. */
export const seed = Number(process.env.FEEDSTORE_SEED ?? randomInt(2 ** 32));
console.log(`FEEDSTORE_SEED=${seed}`);

/** Random choices that depend only on the seed (a 32-bit xorshift). */
export class Random {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0) || 1;
    for (let round = 0; round < 8; round++) this.below(2);
  }

  /** A whole number from 0 to `bound` - 1. */
  below(bound) {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state % bound;
  }

  /** True with a probability in percent. */
  chance(percent) { return this.below(100) < percent; }

  pick(list) { return list[this.below(list.length)]; }

  shuffled(list) {
    const result = [...list];
    for (let at = result.length - 1; at > 0; at--) {
      const other = this.below(at + 1);
      [result[at], result[other]] = [result[other], result[at]];
    }
    return result;
  }
}
