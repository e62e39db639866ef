/**
 * Computes a feed after each record, plainly and slowly, from the records themselves. It knows the protocol's
 * operations, but not changesets.
 *
 * A feed is a list of `{ id, data, items: [{ id, kind, data }] }`, or undefined if there is none.
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
  for (const event of [value].flat()) feed = afterEvent(feed, event);
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
  return sections.map(({ id, data, items = [] }) => ({
    id,
    data: data !== undefined ? data : before.find((section) => section.id === id)?.data ?? null,
    items: items.map((listed) => listedItem(before, listed)),
  }));
}

function afterSectionEvent(sections, known, { section: id, data, items, at }, operation) {
  if (operation === 'reload') return;
  if (operation === 'delete') {
    sections.splice(sections.indexOf(known), 1);
    return;
  }
  const section = known ?? { id, data: null, items: [] };
  if (data !== undefined) section.data = data;
  if (known === undefined || at !== undefined) place(sections, section, at);
  if (items === undefined) return;
  const listed = items.map((item) => listedItem(sections, item));
  for (const { id } of listed) removeItem(sections, id);
  section.items = listed;
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
