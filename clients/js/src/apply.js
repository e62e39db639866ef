/**
 * The events that make a feed what it should be. This module is loaded with the first `apply`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('../types/index.js').FeedEvent} FeedEvent
 * @typedef {import('../types/index.js').FeedView} FeedView
 * @typedef {import('../types/index.js').ListedSection} ListedSection
 */

/** @param {unknown} value */
const textOf = (value) => JSON.stringify(value);

/**
 * One record of events, with the fewest moves, from what is shown to what should be.
 * @param {readonly ListedSection[]} target @param {import('../types/index.js').Window | null} window
 * @param {FeedView} shown @param {FeedView} seen The same as the program has it: with checked data.
 * @returns {FeedEvent[]} None if nothing differs.
 */
export function eventsTo(target, window, shown, seen) {
  const { feed, standing: { name } } = shown;
  if (window !== null) throw new Error(`a window of ${textOf(feed)} cannot be applied; follow the whole feed: store.feed(${textOf(feed)})`);
  if (!shown.exists || name === 'stale') {
    throw new Error(`${textOf(feed)} is ${name}, ${shown.exists ? 'and may have changed' : 'and has no state'}; apply when it is live`);
  }
  checkIds(target);
  const { index, sections } = placesOf(shown);
  /** @type {any[]} */
  const events = [];
  const kept = inOrder(target.map(({ id }) => sections.get(id)));
  target.forEach((section, at) => {
    const { id } = section;
    const place = kept.has(at) ? undefined : placeAfter(target[at - 1]?.id);
    const change = { ...changeOf(section, shown.section(id), seen.section(id), ['data', 'order', 'keep']), ...(place && { at: place }) };
    if (!sections.has(id) || Object.keys(change).length > 0) events.push({ op: 'section.upsert', section: id, ...change });
  });
  const [wanted, wantedItems] = [new Set(target.map(({ id }) => id)), new Set(target.flatMap(({ items = [] }) => items.map(idOf)))];
  for (const { id, items } of shown.sections) {
    if (wanted.has(id)) for (const item of items) if (!wantedItems.has(item.id)) events.push({ op: 'item.delete', item: item.id });
  }
  for (const { id: section, items = [], order = shown.section(section)?.order } of target) {
    const here = items.map((item) => (shown.item(idOf(item))?.section === section ? index.get(idOf(item)) : undefined));
    // The daemon places the items of an ordered section.
    const stays = order ? new Set(here.flatMap((place, at) => (place === undefined ? [] : [at]))) : inOrder(here);
    items.forEach((entry, at) => {
      const item = idOf(entry);
      const before = shown.item(item);
      const change = typeof entry === 'string' ? {} : changeOf(entry, before, seen.item(item), ['kind', 'data']);
      const place = {
        ...(before?.section !== section && { section }),
        ...(!stays.has(at) && !order && { at: placeAfter(items[at - 1] && idOf(items[at - 1])) }),
      };
      if (before === undefined || Object.keys(change).length > 0) events.push({ op: 'item.upsert', item, ...place, ...change });
      else if (!stays.has(at)) events.push({ op: 'item.move', item, ...place });
    });
  }
  for (const { id } of shown.sections) if (!wanted.has(id)) events.push({ op: 'section.delete', section: id });
  return events;
}

/** @param {string | { id: string }} entry */
const idOf = (entry) => (typeof entry === 'string' ? entry : entry.id);

/** @param {string | undefined} id */
const placeAfter = (id) => (id === undefined ? 'first' : { after: id });

/** @param {readonly ListedSection[]} target */
function checkIds(target) {
  for (const ids of [target.map(idOf), target.flatMap(({ items = [] }) => items.map(idOf))]) {
    const taken = new Set();
    for (const id of ids) {
      if (typeof id !== 'string' || id === '') throw new TypeError(`an id is a text, not ${textOf(id)}`);
      if (taken.has(id)) throw new TypeError(`${textOf(id)} is there twice; a feed has each section and each item once`);
      taken.add(id);
    }
  }
}

/**
 * The positions of items in their sections, and of sections.
 * @param {FeedView} view
 */
function placesOf({ sections }) {
  return {
    sections: new Map(sections.map(({ id }, at) => [id, at])),
    index: new Map(sections.flatMap(({ items }) => items.map(({ id }, at) => /** @type {const} */ ([id, at])))),
  };
}

/**
 * The members of an element that are given, and differ from what there is.
 * @param {any} given @param {any} before @param {any} seen @param {string[]} names
 */
const changeOf = (given, before, seen, names) => Object.fromEntries(names.flatMap((name) => {
  const value = given[name];
  const isSame = value === undefined || (before && (value === seen?.[name] || textOf(value) === textOf(before[name] ?? null)));
  return isSame ? [] : [[name, value]];
}));

/**
 * The longest increasing subsequence: what need not move.
 * @param {(number | undefined)[]} places Where the elements are now; undefined for those that are elsewhere. @returns {Set<number>} Their positions.
 */
function inOrder(places) {
  /** @type {number[]} For each length the position of the smallest end. */
  const ends = [];
  /** @type {(number | undefined)[]} */
  const before = [];
  places.forEach((place, at) => {
    if (place === undefined) return;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Number(places[ends[middle]]) < place) low = middle + 1;
      else high = middle;
    }
    before[at] = ends[low - 1];
    ends[low] = at;
  });
  /** @type {Set<number>} */
  const result = new Set();
  for (let at = ends.at(-1); at !== undefined; at = before[at]) result.add(at);
  return result;
}
