import { xxh32 } from '../../src/replica.js';

const encoder = new TextEncoder();
const termOf = (...fields) => xxh32(encoder.encode(fields.join('\0')));
const copy = (value) => JSON.parse(JSON.stringify(value));

/** What a window shows of sections, plainly. */
export function slice(sections, { sections: ids, first = Infinity, from = 0, count = first }) {
  return sections.filter(({ id }) => ids?.includes(id) ?? true)
    .map((section) => ({ ...section, items: section.items.slice(from, from + count) }));
}

function checksumOf(sections) {
  let sum = 0;
  sections.forEach(({ id, items }, at) => {
    sum += termOf('s', sections[at - 1]?.id ?? '', id);
    items.forEach((item, index) => { sum += termOf('i', id, items[index - 1]?.id ?? '', item.id, item.kind); });
  });
  return (sum % 2 ** 32).toString(16).padStart(8, '0');
}

/** The difference of two lists of the same sections. It has more moves than needed. */
function difference(before, after) {
  const items = { delete: [], insert: [], move: [], reconfigure: [] };
  const places = (sections) => new Map(sections.flatMap(({ id: section, items }) =>
    items.map((item, index) => [item.id, { item, place: { section, index } }])));
  const [old, now] = [places(before), places(after)];
  for (const [id, { place }] of old) if (!now.has(id)) items.delete.push({ id, ...place });
  for (const [id, { item, place }] of now) {
    const { item: itemBefore, place: placeBefore } = old.get(id) ?? {};
    if (placeBefore === undefined) items.insert.push({ ...item, ...place });
    else if (JSON.stringify(place) !== JSON.stringify(placeBefore)) items.move.push({ id, from: placeBefore, to: place });
    if (itemBefore !== undefined && JSON.stringify(item) !== JSON.stringify(itemBefore)) items.reconfigure.push({ ...item, ...place });
  }
  return { isEmpty: Object.values(items).every((list) => list.length === 0), items };
}

/** Serves one feed over streams of many feeds, as docs/http.md says, with any number of streams. */
export class StreamServer {
  /** Each `{ method, url, body }`. */
  requests = [];
  /** The bytes of all messages. */
  sentBytes = 0;
  revision = 1;
  #streams = new Map();

  constructor(sections) { this.sections = sections; }

  get streamCount() { return this.#streams.size; }

  fetch = async (url, { method, body, signal }) => {
    this.requests.push({ method, url, body: JSON.parse(body) });
    if (method === 'PATCH') {
      const stream = this.#streams.get(url.split('/').at(-1));
      if (stream === undefined) return new Response('{"code":"unknown-stream"}', { status: 404 });
      const [{ feed: _feed, ...window }] = JSON.parse(body).add;
      stream.window = window;
      stream.event('must-refetch', { feed: 'f', reason: 'the stream was asked for it again' });
      this.#begin(stream);
      return new Response('{}');
    }
    const [{ feed: _feed, epoch: _epoch, revision, ...window }] = JSON.parse(body).feeds;
    const id = `stream${this.requests.length}`;
    let controller;
    const content = new ReadableStream({ start: (it) => { controller = it; }, cancel: () => this.#streams.delete(id) });
    const send = (text) => {
      this.sentBytes += text.length;
      controller.enqueue(encoder.encode(text));
    };
    const stream = {
      window, revision,
      event: (name, value) => send(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`),
      message: (value) => send(`data: ${JSON.stringify(value)}\n\n`),
      end: () => controller.close(),
    };
    signal.addEventListener('abort', () => {
      if (this.#streams.delete(id)) controller.error(signal.reason);
    });
    this.#streams.set(id, stream);
    stream.event('stream', { stream: id });
    if (revision === this.revision) this.#tellUpToDate(stream);
    else this.#begin(stream);
    return new Response(content, { headers: { 'content-type': 'text/event-stream' } });
  };

  /** Ends all streams. */
  cut() {
    for (const [id, stream] of this.#streams) {
      this.#streams.delete(id);
      stream.end();
    }
  }

  /** Publishes a change of the feed. */
  change(edit) {
    const before = copy(this.sections);
    edit(this.sections);
    this.revision += 1;
    for (const stream of this.#streams.values()) {
      const { isEmpty, items } = difference(slice(before, stream.window), slice(this.sections, stream.window));
      const totals = this.#totals(stream.window);
      if (!isEmpty) {
        stream.message({ ...this.#head(stream.window), base: stream.revision, mode: 'diff', items });
        stream.revision = this.revision;
      } else if (JSON.stringify(totals) !== JSON.stringify(stream.totals)) {
        stream.event('window', { feed: 'f', revision: this.revision, ...totals });
      }
      stream.totals = totals;
    }
  }

  /** Publishes the feed as a whole. */
  reload(sections) {
    this.sections = sections;
    this.revision += 1;
    for (const stream of this.#streams.values()) this.#begin(stream);
  }

  #totals(window) {
    if (window.first === undefined && window.from === undefined) return {};
    const shown = slice(this.sections, window);
    const of = (id) => this.sections.find((section) => section.id === id).items.length;
    return { window: shown.map(({ id, items }) => ({ section: id, from: window.from ?? 0, shown: items.length, of: of(id) })) };
  }

  #head(window) {
    return {
      feed: 'f', epoch: 't/0', revision: this.revision, time: '2026-11-20T10:00:00.000Z', through: { t: this.revision },
      checksum: checksumOf(slice(this.sections, window)), ...this.#totals(window),
    };
  }

  #begin(stream) {
    const sections = slice(this.sections, stream.window);
    stream.message({ ...this.#head(stream.window), base: this.revision, mode: 'reload', reason: 'keyframe', sections });
    stream.revision = this.revision;
    stream.totals = this.#totals(stream.window);
    this.#tellUpToDate(stream);
  }

  #tellUpToDate(stream) {
    stream.event('up-to-date', { feed: 'f', partition: 0, epoch: 't/0', revision: this.revision });
  }
}
