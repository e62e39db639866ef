import { xxh32 } from '../src/replica.js';

const utf8 = new TextEncoder();
const termOf = (text) => xxh32(utf8.encode(text));
/** The terms of checksums, by their texts: items have few neighbours. */
const terms = new Map();

function checksumOf(items) {
  let sum = termOf('s\0\0all');
  let before = '';
  for (const { id, kind } of items) {
    const text = `i\0all\0${before}\0${id}\0${kind}`;
    if (!terms.has(text)) terms.set(text, termOf(text));
    sum += terms.get(text);
    before = id;
  }
  return (sum % 2 ** 32).toString(16).padStart(8, '0');
}

/** The messages of a daemon to the first view of a client: a feed of one ordered section. */
export class BenchFeed {
  revision = 0;

  constructor(count, random = Math.random) {
    this.random = random;
    this.items = Array.from({ length: count }, (_, at) => ({
      id: `player-${at}`, kind: 'player', data: { name: `Player number ${at}`, score: 100 * (count - at), team: 'blue', starred: false },
    }));
  }

  #text(mode, entries, base = this.revision) {
    this.revision += 1;
    const window = [{ section: 'all', from: 0, shown: this.items.length, of: 100_000 }];
    return JSON.stringify({
      view: '1', feed: 'bench', epoch: 'bench/0', revision: this.revision, base, mode, ...(mode === 'reload' && { reason: 'keyframe' }),
      time: '2026-11-20T10:00:00.000Z', through: { 'feeds.items': this.revision }, checksum: checksumOf(this.items), window, ...entries,
    });
  }

  /** The whole feed, after so many items have got other data. */
  reload(changed) {
    for (let number = 0; number < changed; number++) this.#win();
    return this.#text('reload', { sections: [{ id: 'all', data: null, items: this.items }] }, this.revision + 1);
  }

  #win() {
    const at = Math.floor(this.random() * this.items.length);
    const { data, ...item } = this.items[at];
    this.items[at] = { ...item, data: { ...data, score: data.score + Math.floor(this.random() * 300) } };
    return this.items[at];
  }

  /** Different players win points, and move to where they belong. */
  changes(count) {
    const before = this.items.map(({ id }) => id);
    const winners = new Map();
    while (winners.size < count) {
      const item = this.#win();
      winners.set(item.id, item);
    }
    this.items.sort((a, b) => b.data.score - a.data.score);
    // The others keep their order, so that it is enough to move the winners.
    const isOrderKept = this.items.every(({ id }, at) => id === before[at]);
    const move = [];
    const reconfigure = [];
    this.items.forEach(({ id, data }, index) => {
      if (!winners.has(id)) return;
      if (!isOrderKept) move.push({ id, from: { section: 'all', index: before.indexOf(id) }, to: { section: 'all', index } });
      reconfigure.push({ id, section: 'all', index, data });
    });
    return this.#text('diff', { items: { move, reconfigure } });
  }
}
