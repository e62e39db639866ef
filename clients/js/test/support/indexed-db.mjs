/** Of IndexedDB, what the client uses: databases with one object store, and transactions of one request. */
export class FakeIndexedDB {
  /** @type {Map<string, any>} Copies of what is stored, by key. */
  stored = new Map();
  #isMade = false;

  #request(run) {
    const request = {};
    queueMicrotask(() => {
      try {
        request.result = run(request);
        request.onsuccess?.();
      } catch (error) {
        request.error = error;
        request.onerror?.();
      }
    });
    return request;
  }

  open() {
    const { stored } = this;
    const views = {
      get: (key) => this.#request(() => structuredClone(stored.get(key))),
      getAll: () => this.#request(() => structuredClone([...stored.values()])),
      put: (value) => {
        const copy = structuredClone(value);
        return this.#request(() => { stored.set(copy.key, copy); });
      },
      delete: (key) => this.#request(() => { stored.delete(key); }),
    };
    const database = { createObjectStore: () => views, transaction: () => ({ objectStore: () => views }) };
    return this.#request((request) => {
      request.result = database;
      if (!this.#isMade) request.onupgradeneeded();
      this.#isMade = true;
      return database;
    });
  }
}
