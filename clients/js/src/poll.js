/**
 * Streams made of single requests, for networks that break streams, and for caches that share responses.
 *
 * It takes the place of `fetch` for streams: for each view it asks for the changes after a version, and again at the address that the answer
 * names. What arrives becomes messages of a stream. It imports nothing, so that bundlers make one chunk of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A view that is asked for: the query of its next request, what it has, how often in a row there was no content, how often its requests have
 * brought nothing further since the last change, what was said in place of content, and an answer that the feed is not available yet.
 * @typedef {{ entry: any, address: string, version: string | null, tries: number, idle: number, told: string, refusal: Response | null,
 *   end: AbortController }} View
 * @typedef {import('./connection.js').Environment} Environment
 */

/** Milliseconds: the server answers after at most 30,000, and an answer without changes that arrives before `soon` comes from a cache. */
const [patience, longestWait, soon] = [50_000, 30_000, 1000];
/** After so many answers in a row that bring nothing further, the client waits. */
const mostIdle = 5;

/** @param {any} entry @param {string | null} [version] Without one, the state is asked for. */
function addressOf({ partition, sections = [], first, from, count }, version) {
  const values = Object.entries({ after: version ?? '', partition, first, from, count }).filter(([, value]) => value !== undefined);
  return String(new URLSearchParams([...values, ...sections.map((/** @type {string} */ id) => ['sections', id])])).replaceAll('+', '%20');
}

/** @param {string | null} version @returns {[string, number]} */
const partsOf = (version) => [version?.replace(/@\d+$/, '') ?? '', Number(/\d*$/.exec(version ?? ''))];

/** @param {number} status @param {any} value */
const answer = (status, value) => new Response(JSON.stringify(value), { status });

/** @param {Environment} environment @param {Environment['fetch']} fetch @returns {(url: string, request: any) => Promise<Response>} A `fetch` of streams. */
export function pollingFetch(environment, fetch) {
  /** @type {Map<string, PolledStream>} */
  const streams = new Map();
  let opened = 0;
  return async (url, { body, headers, signal }) => {
    const [, instance = '', name] = /^(.*)\/v1\/streams(?:\/(.*))?$/.exec(url) ?? [];
    const content = JSON.parse(body);
    if (name !== undefined) return streams.get(name)?.change(content, headers) ?? answer(404, {});
    const id = `poll${++opened}`;
    const stream = new PolledStream(instance, environment, fetch, headers);
    streams.set(id, stream);
    signal.addEventListener('abort', () => {
      stream.fail(signal.reason);
      streams.delete(id);
    });
    return stream.open(id, content.feeds);
  };
}

class PolledStream {
  /** @type {Map<string, View>} By name. */
  #views = new Map();
  /** @type {Uint8Array[]} What was not read yet. */
  #queue = [];
  /** @type {(value?: any) => void} Goes on with a read that waits. */
  #wake = () => {};
  /** @type {any} Why it has ended. */
  #error;
  #hasEnded = false;
  #headers;
  #url;
  #environment;
  #fetch;

  /** @param {string} url @param {Environment} environment @param {Environment['fetch']} fetch @param {any} headers */
  constructor(url, environment, fetch, headers) {
    this.#url = url;
    this.#environment = environment;
    this.#fetch = fetch;
    this.#headers = headers;
  }

  /** @param {string} name @param {any[]} feeds @returns {Promise<any>} */
  async open(name, feeds) {
    this.#emit('stream', '', { stream: name });
    const refusal = await this.#begin(feeds, 'feeds');
    if (this.#hasEnded) throw this.#error;
    const read = async () => {
      while (this.#queue.length === 0 && !this.#hasEnded) await new Promise((resolve) => { this.#wake = resolve; });
      if (this.#queue.length === 0 && this.#error) throw this.#error;
      return { done: this.#queue.length === 0, value: this.#queue.shift() };
    };
    // Some programs' fetch has no streams.
    return refusal ?? { ok: true, status: 200, headers: new Headers({ 'Content-Type': 'text/event-stream' }), body: { getReader: () => ({ read }) } };
  }

  /** @param {{ add?: any[], remove?: any[] }} change @param {any} headers */
  async change({ add = [], remove = [] }, headers) {
    if (this.#hasEnded) return answer(404, {});
    this.#headers = headers;
    for (const { view } of remove) this.#end(view);
    for (const { view, feed } of add) {
      const told = this.#views.get(view)?.told ?? 'forbidden';
      this.#end(view);
      if (told !== 'forbidden') this.#emit('must-refetch', view, { feed, reason: 'the stream was asked for it again' });
    }
    // The token may be a newer one.
    const refused = [...this.#views.values()].filter(({ told }) => told === 'forbidden').map(({ entry }) => entry);
    return await this.#begin([...add, ...refused], 'add') ?? answer(200, {});
  }

  /** @param {any} [error] Why it ends, and its requests. */
  fail(error) {
    this.#hasEnded = true;
    this.#error ??= error;
    for (const view of this.#views.keys()) this.#end(view);
    this.#wake();
  }

  /** @param {string} view */
  #end(view) {
    this.#views.get(view)?.end.abort();
    this.#views.delete(view);
  }

  /** @param {string} name @param {string} view @param {any} value Or the text of a JSON object with members. */
  #emit(name, view, value) {
    const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
    this.#queue.push(new TextEncoder().encode(`event: ${name}\ndata: {${view && `"view":${JSON.stringify(view)},`}${text.slice(1)}\n\n`));
    this.#wake();
  }

  /** @param {any[]} entries @param {string} list @returns {Promise<Response | null | undefined>} A refusal, after all answers, which come at once. */
  async #begin(entries, list) {
    const begun = entries.map((entry) => {
      const version = entry.epoch === undefined ? null : `${entry.epoch}@${entry.revision}`;
      const address = addressOf(entry, version) + (version ? '&wait=0' : '');
      /** @type {View} */
      const view = { entry, address, version, tries: 0, idle: 0, told: '', refusal: null, end: new AbortController() };
      this.#end(entry.view);
      this.#views.set(entry.view, view);
      return view;
    });
    const refusals = await Promise.all(begun.map((view) => this.#ask(view).catch((error) => { this.fail(error); })));
    const wrong = refusals.findIndex((it) => it?.status === 400);
    const problem = await refusals[wrong]?.json().catch(() => undefined);
    if (problem) return answer(400, { ...problem, member: `${list}[${wrong}]` });
    const refusal = refusals.find(Boolean) ?? (list === 'feeds' && begun.every((view) => view.refusal) ? begun[0]?.refusal : null);
    if (!refusal) for (const view of begun) this.#follow(view);
    return refusal;
  }

  /** @param {View} view */
  async #follow(view) {
    const { setTimer, clearTimer, random } = this.#environment;
    const { signal } = view.end;
    while (!signal.aborted && view.told !== 'forbidden') {
      const waits = Math.max(view.tries, view.idle - mostIdle);
      if (waits > 0) {
        await new Promise((resolve) => {
          const end = () => resolve(clearTimer(timer));
          const timer = setTimer(() => resolve(signal.removeEventListener('abort', end)), Math.min(1500 * 2 ** waits, longestWait) * (1 + random() / 4));
          signal.addEventListener('abort', end);
        });
      }
      try {
        // The stream is opened again, and that says why it cannot be.
        if (!signal.aborted && await this.#ask(view)) this.fail();
      } catch (error) {
        if (!signal.aborted) this.fail(error);
      }
    }
  }

  /** @param {View} view @returns {Promise<Response | undefined>} A response that ends the stream. */
  async #ask(view) {
    const { now, setTimer, clearTimer } = this.#environment;
    const { entry, entry: { feed, view: name }, address, end: { signal } } = view;
    const [headers, began, controller] = [this.#headers, now(), new AbortController()];
    const abort = () => controller.abort();
    signal.addEventListener('abort', abort);
    const timer = setTimer(abort, patience);
    let [response, text] = /** @type {any[]} */ ([]);
    try {
      const { Authorization } = headers;
      // The browser's cache may answer, too.
      response = await this.#fetch(`${this.#url}/v1/feeds/${encodeURIComponent(feed)}/changes?${address}`, {
        headers: { Accept: 'application/x-ndjson', ...(Authorization && { Authorization }) }, signal: controller.signal,
      });
      text = await response.text();
    } catch (error) {
      if (!controller.signal.aborted || signal.aborted || /wait=0$/.test(address)) throw error;
      // It may have waited for one of the browser's connections.
      view.address += '&wait=0';
      return this.#ask(view);
    } finally {
      clearTimer(timer);
      signal.removeEventListener('abort', abort);
    }
    if (signal.aborted) return undefined;
    if (response.status !== 200) return this.#refuse(view, new Response(text, response), headers);
    const next = /<\?([^>]*)>/.exec(response.headers.get('link') ?? '')?.[1];
    if (next === undefined) throw new TypeError('the answer has no header Link; proxies must let it pass');
    const version = new URLSearchParams(next).get('after');
    const [isState, lines] = [/^after=(&|$)/.test(address), text.split('\n').filter(Boolean)];
    const [[epoch, revision], [epochBefore, revisionBefore]] = [partsOf(version), partsOf(view.version)];
    // Changes lead further, and so does a state if the changes up to it are not known. A state past caches counts in any case.
    if (lines.length > 0 && epoch === epochBefore && revision <= revisionBefore && !(isState && /cursor=/.test(address))) {
      const reason = `a cache has answered with revision ${revision}, which is not newer than ${revisionBefore}; the state is asked for past it`;
      console.warn(`feedstore: ${feed}: ${reason}`);
      this.#emit('must-refetch', name, { feed, reason });
      Object.assign(view, { idle: view.idle + 1, address: `${addressOf(view.entry)}&cursor=${Math.floor(now() / 1000)}&wait=0` });
      return undefined;
    }
    const [partition, others] = ['feedstore-partition', 'feedstore-other-partitions'].map((it) => response.headers.get(it));
    if (isState && others) {
      entry.partition = Number(partition);
      this.#emit('other-partitions', name, { feed, partition: entry.partition, otherPartitions: others.split(',').map(Number) });
    }
    for (const line of lines) this.#emit('message', name, line);
    const idle = lines.length === 0 && now() - began < soon ? view.idle + 1 : isState ? view.idle : 0;
    Object.assign(view, { version, address: next, told: '', tries: 0, idle, refusal: null });
    // Also without changes: it keeps the stream alive.
    this.#emit('up-to-date', name, { feed, epoch, revision, ...(partition && { partition: Number(partition) }) });
    return undefined;
  }

  /** @param {View} view @param {Response} response @param {any} headers Of the request. @returns {Promise<Response | undefined>} */
  async #refuse(view, response, headers) {
    const { entry, entry: { feed, view: name } } = view;
    const { status } = response;
    const problem = await response.clone().json().catch(() => undefined);
    const tell = (/** @type {string} */ word, /** @type {any} */ value) => {
      if (view.told !== word) this.#emit(word, name, { feed, ...value });
      Object.assign(view, { told: word, version: null, address: addressOf(entry), tries: view.tries + 1 });
    };
    if (status === 409 && problem?.code === 'must-refetch') {
      this.#emit('must-refetch', name, { feed, reason: problem.detail });
      // The version stays, so that a state from before is noticed.
      Object.assign(view, { address: addressOf(entry), idle: view.idle + 1 });
    } else if (status === 404 && problem?.code === 'unknown-feed') tell('absent', { reason: problem.code });
    else if (status === 410 && problem?.code === 'moved') tell('moved', { url: problem.url });
    else if (status === 403 && problem?.code === 'forbidden') tell('forbidden', { reason: 'not-allowed' });
    else if (status === 503 && problem?.code) Object.assign(view, { tries: view.tries + 1, refusal: response });
    else if (status !== 401) return response;
    // With a newer token it is sent again.
    else if (headers === this.#headers) {
      const views = [...this.#views.values()];
      if (headers.Authorization) {
        for (const { entry: other } of views) this.#emit('forbidden', other.view, { feed: other.feed, reason: 'token-expired' });
        return response;
      }
      tell('forbidden', { reason: 'not-allowed' });
      // Without a token, other feeds may be public.
      if (views.every(({ told }) => told === 'forbidden')) return response;
    }
    return undefined;
  }
}
