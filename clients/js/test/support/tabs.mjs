import { FeedStore } from '../../src/index.js';
// They are loaded on demand; here they are there at once.
import '../../src/shared-connection.js';

/** Web Locks, as browsers have them. */
class Locks {
  /** @type {Map<string, object[]>} By name; the first of each list has the lock. */
  #queues = new Map();
  #later;

  constructor(later) { this.#later = later; }

  /** What a tab sees. When it is gone, its locks are released, and nothing runs in it. */
  of(tab) {
    return { request: (name, options, run) => new Promise((resolve, reject) => this.#request({ tab, name, run, resolve, reject, ...options })) };
  }

  #request(request) {
    const { tab, name, signal, steal, ifAvailable } = request;
    if (tab.isGone) return;
    if (signal !== undefined && steal) throw new TypeError('steal and signal exclude each other');
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    if (ifAvailable && queue.length > 0) {
      this.#later(() => tab.run(async () => request.resolve(await request.run(null))));
      return;
    }
    signal?.addEventListener('abort', () => {
      if (queue.includes(request) && !request.isHeld) {
        queue.splice(queue.indexOf(request), 1);
        request.reject(signal.reason);
      }
    });
    if (steal) {
      const [holder] = queue;
      if (holder?.isHeld) {
        queue.shift();
        holder.tab.run(() => holder.reject(new DOMException('the lock was stolen', 'AbortError')));
      }
      queue.unshift(request);
    } else {
      queue.push(request);
    }
    this.#grant(queue);
  }

  #grant(queue) {
    const [request] = queue;
    if (request === undefined || request.isHeld) return;
    request.isHeld = true;
    this.#later(() => request.tab.run(async () => {
      try {
        const value = await request.run(request);
        request.resolve(value);
      } catch (error) {
        request.reject(error);
      }
      this.#remove(queue, request);
    }));
  }

  #remove(queue, request) {
    if (!queue.includes(request)) return;
    queue.splice(queue.indexOf(request), 1);
    this.#grant(queue);
  }

  release(tab) {
    for (const queue of this.#queues.values()) for (const request of queue.filter((it) => it.tab === tab)) this.#remove(queue, request);
  }

  get names() { return [...this.#queues].filter(([, queue]) => queue.length > 0).map(([name]) => name); }
}

/** Tabs of one browser: what a store uses of them. */
export class Browser {
  #tabs = new Set();
  #names = 0;

  /** @param {(key: any, run: () => void) => void} later Runs something later, in the order of the calls with the same key. */
  constructor(later) {
    this.later = later;
    this.locks = new Locks((run) => later({}, run));
  }

  /** Opens a tab with a store. @param {object} options Those of the store. */
  open(urls, options) {
    const tab = new Tab(this, ++this.#names);
    this.#tabs.add(tab);
    tab.store = new FeedStore(urls, { page: tab.page, ...options, ...tab.environment(options) });
    return tab;
  }

  /** Brings a message to all other channels of a name. */
  post(from, message) {
    for (const tab of this.#tabs) {
      for (const channel of tab.channels) {
        if (channel === from || channel.name !== from.name) continue;
        this.later(`${from.tab.name} ${tab.name}`, () => tab.run(() => channel.onmessage?.({ data: structuredClone(message) })));
      }
    }
  }

  remove(tab) {
    this.#tabs.delete(tab);
    this.locks.release(tab);
  }
}

class Tab {
  channels = new Set();
  isGone = false;
  #listeners = [];
  #held = [];
  #isFrozen = false;
  #aborts = new Set();
  #timers = new Map();

  constructor(browser, name) {
    const tab = this;
    this.browser = browser;
    this.name = name;
    this.page = {
      document: { visibilityState: 'visible' },
      navigator: { locks: browser.locks.of(this) },
      crypto: { randomUUID: () => `tab${name}.${++this.#joins}` },
      addEventListener: (type, run) => this.#listeners.push({ type, run }),
      removeEventListener: (type, run) => { this.#listeners = this.#listeners.filter((it) => it.type !== type || it.run !== run); },
      BroadcastChannel: class {
        onmessage = null;
        tab = tab;
        constructor(name) {
          this.name = name;
          tab.channels.add(this);
        }
        postMessage(message) { if (!tab.isGone) browser.post(this, structuredClone(message)); }
        close() { tab.channels.delete(this); }
      },
    };
  }

  #joins = 0;

  /** Timers and requests that end with the tab. */
  environment({ setTimer, clearTimer, fetch }) {
    return {
      setTimer: (run, milliseconds) => {
        if (this.isGone) return null;
        const timer = setTimer(() => {
          // It may be cleared as long as the tab is frozen.
          this.run(() => { if (this.#timers.delete(timer)) run(); });
        }, milliseconds);
        this.#timers.set(timer, clearTimer);
        return timer;
      },
      clearTimer: (timer) => {
        this.#timers.delete(timer);
        clearTimer(timer);
      },
      fetch: async (url, request) => {
        await this.#thawed();
        // A page that is gone begins no requests.
        if (this.isGone) return new Promise(() => {});
        const controller = new AbortController();
        this.#aborts.add(controller);
        request.signal?.throwIfAborted();
        request.signal?.addEventListener('abort', () => controller.abort(request.signal.reason));
        const response = await fetch(url, { ...request, signal: controller.signal });
        await this.#thawed();
        if (response.body === null) return response;
        const transform = async (chunk, output) => {
          await this.#thawed();
          output.enqueue(chunk);
        };
        return new Response(response.body.pipeThrough(new TransformStream({ transform })), response);
      },
    };
  }

  /** Runs something in the tab; later if it is frozen, and never if it is gone. */
  run(action) {
    if (this.isGone) return;
    if (this.#isFrozen) this.#held.push(action);
    else action();
  }

  #thawed() { return new Promise((resolve) => { this.run(resolve); }); }

  freeze() { this.#isFrozen = true; }

  thaw() {
    this.#isFrozen = false;
    for (const action of this.#held.splice(0)) this.run(action);
  }

  emit(type, event = {}) { for (const { run } of this.#listeners.filter((it) => it.type === type)) run(event); }

  hide(isHidden) {
    this.page.document.visibilityState = isHidden ? 'hidden' : 'visible';
    this.emit('visibilitychange');
  }

  /** It crashes, or is closed without any notice. */
  kill() {
    this.isGone = true;
    this.#held = [];
    for (const [timer, clear] of this.#timers) clear(timer);
    for (const controller of this.#aborts) controller.abort(new Error('the tab is gone'));
    this.browser.remove(this);
  }
}
