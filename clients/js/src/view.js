/**
 * A feed, or a window of it, at one moment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./replica/elements.js').Section} Section
 * @typedef {import('./replica/elements.js').Item} Item
 * @typedef {{ section: (id: string) => Section | undefined, item: (id: string) => Item | undefined }} Index
 * @typedef {ReturnType<typeof viewOf>} View
 */

/**
 * @param {import('./replica/plain-replica.js').PlainReplica} replica What is confirmed. @param {import('./connection.js').Standing} standing
 * @param {{ sections: readonly Section[], index: Index } | null} pending What is shown instead, while writes are pending.
 */
export function viewOf({ feed, epoch, revision, time, checksum, through, sections, index }, standing, pending) {
  const head = { feed, epoch, revision, time, checksum, through };
  return Object.freeze({
    ...head,
    standing,
    exists: revision !== null,
    isPending: pending !== null,
    sections: Object.freeze(pending?.sections ?? sections),
    ...(pending?.index ?? index),
    /** The confirmed state, as a reload. */
    toJSON: () => ({ ...head, base: 0, mode: 'reload', window: sections.map(({ id, from, of }) => ({ section: id, from, of })), sections }),
  });
}

/**
 * Elements with checked data, by the function that checks data, and by their originals.
 * @type {WeakMap<object, WeakMap<object, any>>}
 */
const made = new WeakMap();

/**
 * A view with checked data. `parse` is called once per new value; unchanged items are the same objects as before.
 * @param {(data: unknown) => any} parse @param {View} view @returns {View}
 */
export function checkedView(parse, view) {
  const all = made.get(parse) ?? new WeakMap();
  made.set(parse, all);
  const once = (/** @type {any} */ key, /** @type {(key: any) => any} */ make) => {
    // Data may be a number or null.
    if (Object(key) !== key) return make(key);
    if (!all.has(key)) all.set(key, make(key));
    return all.get(key);
  };
  const parsed = (/** @type {any} */ data) => {
    try {
      return { data: parse(data) };
    } catch (error) {
      return { error };
    }
  };
  const checkedItem = (/** @type {Item | undefined} */ item) => item && once(item, () => ({ ...item, ...once(item.data, parsed) }));
  const checkedSection = (/** @type {Section | undefined} */ section) => (
    section && once(section, () => ({ ...section, items: section.items.map(checkedItem) }))
  );
  return once(view, () => ({
    ...view,
    sections: view.sections.map(checkedSection),
    item: (/** @type {string} */ id) => checkedItem(view.item(id)),
    section: (/** @type {string} */ id) => checkedSection(view.section(id)),
  }));
}
