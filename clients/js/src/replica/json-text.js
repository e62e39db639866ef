/** The text of the data in a changeset. SPDX-License-Identifier: Apache-2.0 */

import { invalid } from './fault.js';

/** @param {string} text @returns {any} */
function parsed(text) {
  // JSON.parse takes unpaired surrogates, which no changeset has.
  if (/\\ud[89a-f]/i.test(text.replace(/\\(\\|ud[89ab]..\\ud[c-f])/gi, ''))) throw invalid('surrogate', text);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid('JSON', `${error}`);
  }
}

/** Where an entry has the text of its data. A symbol, because later versions may add a member of any name. */
export const textOfData = Symbol('the text of the data');

/**
 * Parses a changeset, and keeps the text of all data in it, which `JSON.parse` loses: `1.0` and `1` become the same, numbers
 * beyond its range others, and only the last of duplicate members remains. The elements that it leads to have it as `dataText`.
 *
 * The texts are parts of the whole, which stays in memory as long as one of them.
 *
 * @param {string} text
 * @returns {any} For `apply`.
 * @throws {ReplicaFault} If it is not JSON.
 */
export function parsedWithText(text) {
  const changeset = parsed(text);
  let at = 0;
  /** Goes to the next token, and returns its first character. */
  const next = () => {
    // White space, commas and colons.
    for (let code = text.charCodeAt(at); code <= 32 || code === 44 || code === 58;) code = text.charCodeAt(++at);
    return text[at];
  };
  /** Passes over a value, whatever its depth, and returns its text. The text is JSON, because it has been parsed. */
  const skip = () => {
    const first = next();
    const start = at;
    if (first === '"') at = endOfString(text, at);
    else if (first !== '[' && first !== '{') while (isPartOfWord(text.charCodeAt(at))) at += 1;
    else {
      let depth = 0;
      do {
        const code = text.charCodeAt(at);
        at = code === 34 ? endOfString(text, at) : at + 1;
        // Brackets and braces differ by 32 from each other.
        if ((code | 32) === 123) depth += 1;
        else if ((code | 32) === 125) depth -= 1;
      } while (depth > 0);
    }
    return text.slice(start, at);
  };
  /**
   * Reads a value, down to the entries of a section that is in a list. Of members with the same name the last one is in the value, and is
   * read last.
   */
  const read = (/** @type {any} */ value, /** @type {number} */ depth) => {
    const first = next();
    if (depth > 4 || (first !== '[' && first !== '{')) {
      skip();
      return;
    }
    at += 1;
    for (let index = 0; next() !== ']' && text[at] !== '}'; index++) {
      const spelled = first === '[' ? String(index) : skip().slice(1, -1);
      const name = spelled.includes('\\') ? JSON.parse(`"${spelled}"`) : spelled;
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (name === 'data') value[textOfData] = skip();
      else read(Object(member), depth + 1);
    }
    at += 1;
  };
  read(Object(changeset), 0);
  return changeset;
}

/**
 * Whether a character can be in a number, or in `true`, `false` and `null`.
 * @param {number} code
 */
const isPartOfWord = (code) => code > 44 && code !== 58 && code !== 93 && code !== 125 || code === 43;

/**
 * The end of a JSON string that begins with a quote.
 * @param {string} text @param {number} start
 */
export function endOfString(text, start) {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}
