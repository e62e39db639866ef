import { xxh32 } from '../../src/replica.js';

const encoder = new TextEncoder();
const termOf = (...fields) => xxh32(encoder.encode(fields.join('\0')));
const copy = (value) => JSON.parse(JSON.stringify(value));
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** What a window shows of sections, plainly. */
export function slice(sections, { sections: ids, first = Infinity, from = 0, count = first }) {
  return sections.filter(({ id }) => ids?.includes(id) ?? true)
    .map((section) => ({ ...section, items: section.items.slice(from, from + count) }));
}

export function checksumOf(sections) {
  let sum = 0;
  sections.forEach(({ id, items }, at) => {
    sum += termOf('s', sections[at - 1]?.id ?? '', id);
    items.forEach((item, index) => { sum += termOf('i', id, items[index - 1]?.id ?? '', item.id, item.kind); });
  });
  return (sum % 2 ** 32).toString(16).padStart(8, '0');
}

/** The difference of two lists of the same sections. It has more moves than needed. */
function difference(before, after) {
  const items = { delete: [], insert: [], move: [], reconfigure: [], reload: [] };
  const places = (sections) => new Map(sections.flatMap(({ id: section, items }) =>
    items.map((item, index) => [item.id, { item, place: { section, index } }])));
  const [old, now] = [places(before), places(after)];
  for (const [id, { place }] of old) if (!now.has(id)) items.delete.push({ id, ...place });
  for (const [id, { item, place }] of now) {
    const { item: itemBefore, place: placeBefore } = old.get(id) ?? {};
    if (placeBefore === undefined) items.insert.push({ ...item, ...place });
    else if (!isSame(place, placeBefore)) items.move.push({ id, from: placeBefore, to: place });
    if (itemBefore !== undefined && !isSame(item, itemBefore)) items[item.kind === itemBefore.kind ? 'reconfigure' : 'reload'].push({ ...item, ...place });
  }
  return { isEmpty: Object.values(items).every((list) => list.length === 0), items };
}

const heads = (sections) => sections.map(({ items: _items, ...head }) => head);

/** Serves feeds over streams of many feeds, as docs/http.md says, with any number of streams. */
export class StreamServer {
  /** Each `{ method, url, headers, body }`. */
  requests = [];
  /** The bytes of all messages. */
  sentBytes = 0;
  /** By id: `{ epoch, revision, sections, head, states }`; `sections` is undefined for what does not exist. */
  feeds = new Map();
  /** Where feeds are that are not here, by id: their URLs. */
  elsewhere = new Map();
  /** What a token allows: null, or the reason, if it is refused. */
  rightsOf = () => ({ mayRead: () => true, sub: 'a' });
  /** The answer to a write, and to who asks for its outcome. */
  onWrite = () => ({ status: 403, body: { code: 'writes-off', detail: 'writes are off' } });
  onOutcome = () => ({ status: 404, body: {} });
  /** Runs something later, in the order of the calls with the same key; by default at once. */
  later = (_key, run) => run();
  /** Ends the wait of a request for changes after a while; returns a function that forgets it. */
  patience = () => () => {};
  /** @type {Set<{ id: string, wake: () => void }>} The requests that wait. */
  #waiting = new Set();
  isDown = false;
  /** Whether nothing that it sends fits. */
  spoilsAll = false;
  #opened = 0;
  #streams = new Map();

  /** @param {object[]} [sections] Those of the feed `f`. */
  constructor(sections) { if (sections !== undefined) this.reload(sections); }

  get streamCount() { return this.#streams.size; }
  get sections() { return this.feeds.get('f').sections; }
  get revision() { return this.feeds.get('f').revision; }

  fetch = async (url, { method, headers = {}, body, signal }) => {
    this.requests.push({ method, url, headers, body: body && JSON.parse(body) });
    await new Promise((resolve) => { this.later('requests', resolve); });
    signal?.throwIfAborted();
    if (this.isDown) throw new TypeError('fetch failed');
    const answer = (status, value) => new Response(JSON.stringify(value), { status });
    const rights = this.rightsOf(headers.Authorization?.slice('Bearer '.length));
    if (rights?.mayRead === undefined) return answer(401, { code: 'invalid-token', detail: rights ?? 'the token is not accepted' });
    const content = body && JSON.parse(body);
    const [, feed, place] = /\/v1\/feeds\/([^/]+)\/events(?:\?(.*))?$/.exec(url) ?? [];
    if (feed !== undefined) {
      const aborted = new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)); });
      const own = place ? this.onOutcome(Object.fromEntries(new URLSearchParams(place)), headers) : this.onWrite(decodeURIComponent(feed), content, headers);
      const { status, body: value } = await Promise.race([own, aborted]);
      return answer(status, value);
    }
    const [, polled, query] = /\/v1\/feeds\/([^/]+)\/changes\?(.*)$/.exec(url) ?? [];
    if (polled !== undefined) return this.#poll(decodeURIComponent(polled), new URLSearchParams(query), rights, signal, answer);
    const list = method === 'PATCH' ? 'add' : 'feeds';
    const wrong = (content[list] ?? []).findIndex(({ first }) => first > 10000);
    if (wrong >= 0) return answer(400, { code: 'invalid-content', member: `${list}[${wrong}].first`, detail: `${list}[${wrong}].first is too large` });
    return method === 'PATCH' ? this.#patch(url, content, rights, answer) : this.#open(content, signal, rights);
  };

  /** The changes after a version, or the state, in one response: docs/poll.md. */
  async #poll(id, query, rights, signal, answer) {
    if (!rights.mayRead(id)) return answer(403, { code: 'forbidden', detail: 'not allowed' });
    const [after, ids] = [query.get('after'), query.getAll('sections')];
    const window = Object.fromEntries(['first', 'from', 'count'].filter((name) => query.has(name)).map((name) => [name, Number(query.get(name))]));
    if (ids.length > 0) window.sections = ids;
    if (window.first > 10000) return answer(400, { code: 'invalid-parameter', detail: 'first is too large' });
    const rest = [...query].filter(([name]) => !['after', 'cursor', 'wait'].includes(name));
    const lines = (values, version, more = []) => new Response(values.map((value) => `${JSON.stringify(value)}\n`).join(''), {
      headers: { Link: `<?${new URLSearchParams([['after', version], ...rest, ...more])}>; rel="next"`, 'Feedstore-Partition': '0' },
    });
    for (let isOver = query.get('wait') === '0';;) {
      const url = this.elsewhere.get(id);
      if (url !== undefined) return answer(410, { code: 'moved', ...(url && { url }) });
      const feed = this.feeds.get(id);
      const [epoch, revision] = [after.slice(0, after.lastIndexOf('@')), Number(after.slice(after.lastIndexOf('@') + 1))];
      const version = `${feed?.epoch}@${feed?.revision}`;
      if (feed?.sections === undefined && (after === '' || feed?.epoch !== epoch)) return answer(404, { code: 'unknown-feed', detail: 'no feed' });
      const values = [];
      const isSpoilt = this.spoilsAll || this.#spoilt.delete(id);
      if (feed.sections === undefined && version !== after) {
        values.push({ feed: id, epoch, revision: feed.revision, base: feed.revision - 1, mode: 'delete', ...feed.head, checksum: '00000000' });
      } else if (after === '' || (rest.length > 0 && feed.epoch === epoch && version !== after)) {
        values.push({ ...this.#head(feed, window), base: feed.revision, mode: 'reload', reason: 'keyframe', sections: slice(feed.sections, window) });
      } else if (feed.epoch !== epoch || !feed.states.has(revision)) {
        return answer(409, { code: 'must-refetch', detail: 'not known' });
      } else if (version !== after && feed.sections !== undefined) {
        const before = feed.states.get(revision);
        const place = { window, version: { epoch, revision }, totals: this.#totals({ sections: before }, window) };
        const stream = { event: () => {}, message: (_, value) => values.push(value) };
        this.#step(stream, place, feed, before);
      }
      if (values.length > 0) return lines(isSpoilt ? values.map((value) => ({ ...value, checksum: '00000002' })) : values, version);
      if (isOver) return lines([], after, query.has('wait') ? [] : [['cursor', Number(query.get('cursor') ?? 0) + 1]]);
      await new Promise((resolve, reject) => {
        const entry = { id, wake: resolve };
        this.#waiting.add(entry);
        const forget = this.patience(() => {
          isOver = true;
          resolve();
        });
        signal?.addEventListener('abort', () => reject(signal.reason));
        entry.end = () => {
          forget();
          this.#waiting.delete(entry);
        };
        signal?.addEventListener('abort', entry.end);
        entry.wake = () => {
          entry.end();
          resolve();
        };
      });
    }
  }

  #open({ feeds }, signal, rights) {
    const id = `stream${++this.#opened}`;
    let controller;
    let isOpen = true;
    const content = new ReadableStream({ start: (it) => { controller = it; }, cancel: () => this.#streams.delete(id) });
    const send = (text) => this.later(id, () => {
      this.sentBytes += text.length;
      if (isOpen) controller.enqueue(encoder.encode(text));
    });
    const stream = {
      rights, places: new Map(),
      event: (name, value) => send(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`),
      message: (place, value) => {
        const sent = place.isSpoilt || this.spoilsAll ? { ...value, checksum: value.checksum === '00000001' ? '00000002' : '00000001' } : value;
        place.isSpoilt = false;
        send(`data: ${JSON.stringify({ view: place.view, ...sent })}\n\n`);
      },
      beat: () => send(':\n\n'),
      end: (error) => this.later(id, () => {
        if (!isOpen) return;
        isOpen = false;
        if (error) controller.error(error);
        else controller.close();
      }),
    };
    signal.addEventListener('abort', () => {
      this.#streams.delete(id);
      if (isOpen) controller.error(signal.reason);
      isOpen = false;
    });
    this.#streams.set(id, stream);
    stream.event('stream', { stream: id });
    for (const request of feeds) this.#follow(stream, request);
    return new Response(content, { headers: { 'content-type': 'text/event-stream' } });
  }

  #patch(url, { add = [], remove = [] }, rights, answer) {
    const stream = this.#streams.get(url.split('/').at(-1));
    if (stream === undefined || stream.rights.sub !== rights.sub) return answer(404, { code: 'unknown-stream', detail: 'there is no such stream' });
    const refused = [...stream.places.values()].filter(({ isForbidden }) => isForbidden);
    stream.rights = rights;
    for (const it of remove) stream.places.delete(it.view ?? it);
    for (const place of stream.places.values()) if (!place.isForbidden && !rights.mayRead(place.feed)) this.#refuse(stream, place);
    const change = { added: [], changed: [], removed: remove };
    for (const place of refused) if (rights.mayRead(place.feed) && stream.places.has(place.view)) this.#begin(stream, place, undefined);
    for (const request of add) {
      const { feed, view = feed } = request;
      const before = stream.places.get(view);
      const isChange = before !== undefined && !before.isForbidden;
      (before === undefined ? change.added : change.changed).push({ feed, view });
      if (isChange) stream.event('must-refetch', { view, feed, reason: 'the stream was asked for it again' });
      this.#follow(stream, isChange ? { ...request, epoch: undefined, revision: undefined } : request);
    }
    return answer(200, change);
  }

  #follow(stream, { feed, view = feed, partition: _partition, epoch, revision, ...window }) {
    const place = { feed, view, window, version: null, told: null, totals: undefined, isForbidden: false };
    stream.places.set(view, place);
    this.#begin(stream, place, epoch === undefined ? undefined : { epoch, revision });
  }

  #refuse(stream, place) {
    Object.assign(place, { isForbidden: true, version: null });
    stream.event('forbidden', { view: place.view, feed: place.feed, reason: 'not-allowed' });
  }

  /** Sends what a reader needs. */
  #begin(stream, place, version) {
    if (!stream.rights.mayRead(place.feed)) return this.#refuse(stream, place);
    place.isForbidden = false;
    const tell = (name, value) => {
      if (place.told !== name) stream.event(name, { view: place.view, feed: place.feed, ...value });
      Object.assign(place, { told: name, version: null });
    };
    const url = this.elsewhere.get(place.feed);
    if (url !== undefined) return tell('moved', { partition: 0, ...(url && { url }) });
    const feed = this.feeds.get(place.feed);
    if (feed?.sections === undefined) return tell('absent', { reason: 'unknown-feed' });
    place.told = null;
    const had = version?.epoch === feed.epoch ? feed.states.get(version.revision) : undefined;
    // Who continues may have others.
    place.totals = had === undefined || Object.keys(place.window).length === 0 ? this.#totals(feed, place.window) : undefined;
    if (had === undefined) {
      stream.message(place, { ...this.#head(feed, place.window), base: feed.revision, mode: 'reload', reason: 'keyframe', sections: slice(feed.sections, place.window) });
      place.version = { epoch: feed.epoch, revision: feed.revision };
    } else {
      place.version = { epoch: feed.epoch, revision: version.revision };
      this.#step(stream, place, feed, had);
    }
    return this.#tellUpToDate(stream, place, feed);
  }

  /** Sends how a reader gets from an earlier state to the present one. */
  #step(stream, place, feed, before) {
    const [old, now] = [slice(before, place.window), slice(feed.sections, place.window)];
    const totals = this.#totals(feed, place.window);
    const { isEmpty, items } = difference(old, now);
    // Readers of the whole feed have every revision.
    const isNews = isEmpty && Object.keys(place.window).length === 0 && place.version.revision !== feed.revision;
    const isReload = isNews || !isSame(heads(old), heads(now));
    if (isReload) {
      stream.message(place, { ...this.#head(feed, place.window), base: feed.revision, mode: 'reload', reason: 'keyframe', sections: now });
    } else if (!isEmpty) {
      const isPlain = items.delete.length + items.insert.length + items.move.length + items.reload.length === 0;
      stream.message(place, { ...this.#head(feed, place.window), base: place.version.revision, mode: isPlain ? 'reconfigure' : 'diff', items });
    } else {
      if (!isSame(totals, place.totals)) stream.event('window', { view: place.view, feed: feed.id, epoch: feed.epoch, revision: feed.revision, ...totals });
      place.totals = totals;
      return;
    }
    place.totals = totals;
    place.version = { epoch: feed.epoch, revision: feed.revision };
    if (isReload) this.#tellUpToDate(stream, place, feed);
  }

  /** Ends all streams. */
  cut(error) {
    for (const [id, stream] of this.#streams) {
      this.#streams.delete(id);
      stream.end(error);
    }
  }

  /** Ends all streams as when their token has ended. */
  expire() {
    for (const stream of this.#streams.values()) {
      for (const { feed, view } of stream.places.values()) stream.event('forbidden', { view, feed, reason: 'token-expired' });
    }
    this.cut();
  }

  /**
   * Publishes a new state of a feed; undefined deletes it.
   * @param {{ epoch?: string, revision?: number, time?: string, through?: object }} [head]
   * @param {object[]} [changesets] What readers of the whole feed are sent, in parts; otherwise it is computed.
   */
  publish(id, sections, head = {}, changesets = undefined) {
    const before = this.feeds.get(id);
    const revision = head.revision ?? (before?.revision ?? 0) + 1;
    const { epoch = before?.epoch ?? 't/0', time = '2026-11-20T10:00:00.000Z', through = { t: revision } } = head;
    const states = before?.epoch === epoch ? before.states : new Map();
    const feed = { id, epoch, revision, sections, states, head: { time, through } };
    if (sections !== undefined) states.set(revision, copy(sections));
    this.feeds.set(id, feed);
    for (const entry of [...this.#waiting]) if (entry.id === id) entry.wake();
    if (this.elsewhere.has(id)) return;
    for (const { stream, place } of this.#readersOf(id)) {
      if (place.isForbidden) continue;
      const isWhole = Object.keys(place.window).length === 0;
      if (sections === undefined) {
        if (place.version !== null) {
          stream.message(place, { feed: id, epoch, revision, base: revision - 1, mode: 'delete', time, through, checksum: '00000000' });
          stream.event('up-to-date', { view: place.view, feed: id, epoch, revision });
        }
        place.version = null;
      } else if (place.version === null || before?.sections === undefined) {
        place.told = null;
        this.#begin(stream, place, undefined);
      } else if (isWhole && changesets !== undefined) {
        for (const changeset of changesets) stream.message(place, changeset);
        place.version = { epoch, revision };
        if (changesets[0].mode === 'reload') this.#tellUpToDate(stream, place, feed);
      } else {
        this.#step(stream, place, feed, before.sections);
      }
    }
  }

  /** Publishes a change of the feed `f`. */
  change(edit, head) {
    const sections = copy(this.sections);
    edit(sections);
    this.publish('f', sections, head);
  }

  /** Publishes the feed `f` as a whole. */
  reload(sections) {
    this.publish('f', sections);
    this.refetch('f');
  }

  /** Sends a feed's readers its state, whatever they have. */
refetch(id) { for (const { stream, place } of this.#readersOf(id)) this.#begin(stream, place, undefined); }

  /** Another instance has the feed from now on. @param {string} url Empty if it is not known. */
  leave(id, url) {
    this.elsewhere.set(id, url);
    this.refetch(id);
  }

  /** This instance has the feed again. */
  take(id, other) {
    const feed = other.feeds.get(id);
    this.elsewhere.delete(id);
    if (feed !== undefined) this.feeds.set(id, { ...feed, states: new Map(feed.states) });
    this.refetch(id);
  }

  #spoilt = new Set();

  /** Spoils what the readers of a feed have: their next changeset does not fit. */
  spoil(id) {
    if (this.#waiting.size > 0) this.#spoilt.add(id);
    for (const { place } of this.#readersOf(id)) if (place.version) place.isSpoilt = true;
  }

  /** The views of a feed. */
  #readersOf(id) {
    return [...this.#streams.values()].flatMap((stream) => [...stream.places.values()].filter(({ feed }) => feed === id).map((place) => ({ stream, place })));
  }

  /** Sends what keeps connections alive. */
  beat() { for (const stream of this.#streams.values()) stream.beat(); }

  #totals(feed, window) {
    if (Object.keys(window).length === 0) return {};
    const shown = slice(feed.sections, window);
    const of = (id) => feed.sections.find((section) => section.id === id).items.length;
    return { window: shown.map(({ id, items }) => ({ section: id, from: window.from ?? 0, shown: items.length, of: of(id) })) };
  }

  #head({ id, epoch, revision, sections, head }, window) {
    return { feed: id, epoch, revision, ...head, checksum: checksumOf(slice(sections, window)), ...this.#totals({ sections }, window) };
  }

  #tellUpToDate(stream, { view }, { id, epoch, revision }) { stream.event('up-to-date', { view, feed: id, partition: 0, epoch, revision }); }
}
