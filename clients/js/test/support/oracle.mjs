/**
 * Computes a feed after each record, plainly and slowly, from the records themselves. It knows the protocol's
 * operations, but not changesets.
 *
 * A feed is a list of `{ id, data, [order], [keep], items: [{ id, kind, data }] }`, or undefined if there is none.
 */

const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/**
 * The feed after a record that was accepted.
 *
 * @param {object[] | undefined} before
 * @param {object | object[] | null} value The record's value.
 */
export function afterRecord(before, value) {
  let feed = copy(before);
  if (value === null) return undefined;
  for (const event of [value].flat()) {
    feed = afterEvent(feed, event);
    for (const { order, items } of feed ?? []) if (order !== undefined) items.sort(comparison(order));
  }
  for (const section of feed ?? []) section.items = section.items.slice(0, section.keep);
  return feed;
}

function afterEvent(feed, event) {
  const [kind, operation] = event.op.split('.');
  if (kind === 'feed') return afterFeedEvent(feed, event);
  const sections = feed ?? [];
  const known = kind === 'section'
    ? sections.find(({ id }) => id === event.section)
    : itemIn(sections, event.item)?.item;
  const makes = operation === 'upsert' || operation === 'replace';
  if (known === undefined && !makes) return feed;
  if (kind === 'section') afterSectionEvent(sections, known, event, operation);
  else afterItemEvent(sections, event, operation);
  return sections;
}

function afterFeedEvent(feed, { op, sections }) {
  if (op === 'feed.delete') return undefined;
  if (op === 'feed.clear') return feed && [];
  if (op === 'feed.reload') return feed;
  const before = feed ?? [];
  return sections.map((listed) => {
    const known = before.find(({ id }) => id === listed.id) ?? { id: listed.id, data: null };
    return { ...withContent(known, listed), items: (listed.items ?? []).map((item) => listedItem(before, item)) };
  });
}

function afterSectionEvent(sections, known, event, operation) {
  if (operation === 'reload') return;
  if (operation === 'delete') {
    sections.splice(sections.indexOf(known), 1);
    return;
  }
  const { section: id, items, at } = event;
  const section = known ?? { id, data: null, items: [] };
  withContent(section, event);
  if (known === undefined || at !== undefined) place(sections, section, at);
  if (items === undefined) return;
  const listed = items.map((item) => listedItem(sections, item));
  for (const { id } of listed) removeItem(sections, id);
  section.items = listed;
}

/** The section with the data, the order and the bound that an event has for it. */
function withContent(section, { data, order, keep }) {
  if (data !== undefined) section.data = data;
  if (order !== undefined) {
    section.order = order?.map(({ by, direction }) => (direction === 'descending' ? { by, direction } : { by }));
  }
  if (keep !== undefined) section.keep = keep;
  for (const name of ['order', 'keep']) if (section[name] == null) delete section[name];
  return section;
}

function afterItemEvent(sections, { item: id, section: sectionId, kind, data, at }, operation) {
  const known = itemIn(sections, id);
  if (operation === 'reload' || operation === 'reconfigure') return;
  if (operation === 'delete') return removeItem(sections, id);
  if (operation === 'patch') {
    known.item.data = merged(known.item.data, data);
    return;
  }
  const item = known?.item ?? { id, kind: '', data: null };
  if (kind !== undefined) item.kind = kind;
  if (data !== undefined) item.data = data;
  const wanted = sectionId ?? known.section.id;
  if (known !== undefined && known.section.id === wanted && at === undefined) return;
  let section = sections.find(({ id }) => id === wanted);
  if (section === undefined) sections.push(section = { id: wanted, data: null, items: [] });
  removeItem(sections, id);
  place(section.items, item, at);
}

function place(list, element, at = 'last') {
  const before = list.indexOf(element);
  if (before >= 0) list.splice(before, 1);
  const position = (id) => list.findIndex((other) => other.id === id);
  const index = at === 'first' ? 0 : at === 'last' ? list.length
    : at.index ?? (at.before !== undefined ? position(at.before) : position(at.after) + 1);
  list.splice(index, 0, element);
}

function itemIn(sections, id) {
  for (const section of sections) {
    const item = section.items.find((item) => item.id === id);
    if (item !== undefined) return { item, section };
  }
  return undefined;
}

function removeItem(sections, id) {
  for (const section of sections) section.items = section.items.filter((item) => item.id !== id);
}

function listedItem(sections, listed) {
  const { id, kind, data } = typeof listed === 'string' ? { id: listed } : listed;
  const known = itemIn(sections, id)?.item;
  return {
    id,
    kind: kind ?? known?.kind ?? '',
    data: data !== undefined ? data : known === undefined ? null : copy(known.data),
  };
}

/** Compares items by keys. Values are parsed JSON, so numbers that differ must be different doubles. */
const comparison = (order) => (one, other) => {
  for (const { by, direction } of order) {
    const values = [one, other].map(({ data }) => valueAt(data, by));
    const [rank, otherRank] = values.map((value) => ranks[typeof value] ?? unsortable);
    const result = rank !== otherRank ? rank - otherRank : rank === unsortable ? 0 : compared(...values);
    if (result !== 0) return direction === 'descending' && Math.max(rank, otherRank) < unsortable ? -result : result;
  }
  return compared(one.id, other.id);
};

const ranks = { boolean: 0, number: 1, string: 2 };
const unsortable = 3;

function compared(one, other) {
  if (typeof one === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : one > other ? 1 : 0;
}

/** What a JSON Pointer (RFC 6901) names. */
function valueAt(data, pointer) {
  const names = pointer.split('/').slice(1).map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce((value, name) => {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
      && (!Array.isArray(value) || /^(0|[1-9]\d*)$/.test(name));
    return isThere ? value[name] : undefined;
  }, data);
}

/** A merge patch (RFC 7396). */
function merged(target, patch) {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return copy(patch);
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
  const members = new Map(isObject ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, merged(members.get(name), value));
  }
  return Object.fromEntries(members);
}
