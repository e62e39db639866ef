import { readFileSync } from 'node:fs';

const schema = JSON.parse(readFileSync(new URL('../../../../docs/schemas/event.schema.json', import.meta.url)));

/** The names of an operation's fields in its part of the schema, and whether each is required. */
const fieldsOf = ({ $ref, properties = {}, required = [] }) => ({
  ...($ref === undefined ? {} : fieldsOf(schema.$defs[$ref.split('/').at(-1)])),
  ...Object.fromEntries([...required, ...Object.keys(properties)].map((name) => [name, required.includes(name)])),
});

/** The fields of every operation. */
const operations = Object.fromEntries(schema.properties.op.enum.map((op) => {
  const isOf = ({ const: one, enum: several = [one] }) => several.includes(op);
  const choice = schema.allOf.find((choice) => isOf(choice.if.properties.op));
  return [op, fieldsOf(choice?.then ?? {})];
}));

/** Ids that are hard to compare or to spell. */
const oddIds = [
  '\u00e9', 'e\u0301', '\u{1f600}', '"', '\\', 'a/b', '\u0001', 'line\nbreak', '__proto__', '\u00ff'.repeat(100),
];
const kinds = ['', 'story', 'ad', 'k"é'];
/** Values whose order is easily mistaken. */
const scalars = [
  null, false, true, 0, -1.5, -1, 9, 10, 1e21, 1e-7, 2 ** 53, '', '10', '9', 'Z', 'a', '\u00e9', '\uffff', '\u{1f600}',
];
const pointers = ['', '/title', '/more/a', '/more/__proto__/0', '/more', '/a~1~01', '/a~1~01', '/constructor', '/more/__proto__/-'];

/** Plain ids, half of the total, and then odd ones, as many as there are. */
const idsOf = (prefix, count) => {
  return Array.from({ length: count }, (_, n) => oddIds[n - Math.floor(count / 2)] ?? `${prefix}${n}`);
};

/**
 * Random records as lines of a replay file. Offsets are counted over both topics together, so that the largest one in a
 * changeset's `through` identifies the record.
 *
 * @param {import('./random.mjs').Random} random
 * @param {{ count: number, items?: number, dataBytes?: number }} options The numbers of records and item ids, and the
 * maximum size of data.
 */
export function randomRecords(random, { count, items = 24, dataBytes = 20 }) {
  const feeds = idsOf('feed', 6);
  const sectionIds = idsOf('s', 8);
  const itemIds = idsOf('i', items);
  const data = () => random.pick([
    () => random.pick(scalars),
    () => random.below(5),
    () => 'x'.repeat(random.below(dataBytes)),
    () => ({ title: random.below(9), more: { a: random.below(3), ['__proto__']: [random.below(3)] } }),
    () => ({ 'a/~1': random.pick(scalars), title: random.pick(scalars) }),
  ])();
  const maybe = (name, value) => (random.chance(60) ? { [name]: value() } : {});
  const place = (ids) => random.pick([
    'first', 'last', { index: random.below(12) }, { before: random.pick(ids) }, { after: random.pick(ids) },
  ]);
  const order = () => (random.chance(30) ? null : Array.from({ length: 1 + random.below(4) }, () => (
    { by: random.pick(pointers), ...maybe('direction', () => random.pick(['ascending', 'descending'])) }
  )));
  const keep = () => (random.chance(50) ? null : 1 + random.below(12));
  const list = (ids) => ids.map((id) => (
    random.chance(40) ? id : { id, ...maybe('kind', () => random.pick(kinds)), ...maybe('data', data) }
  ));
  const values = {
    sections: () => {
      let rest = random.shuffled(itemIds);
      return random.shuffled(sectionIds).slice(0, random.below(5)).map((id) => {
        const taken = rest.slice(0, random.below(items / 2));
        rest = rest.slice(taken.length);
        return { id, ...maybe('data', data), ...maybe('order', order), ...maybe('keep', keep), items: list(taken) };
      });
    },
    section: () => random.pick(sectionIds),
    items: () => list(random.shuffled(itemIds).slice(0, random.below(items))),
    item: () => random.pick(itemIds),
    kind: () => random.pick(kinds),
    data: (op) => (op === 'item.patch' && random.chance(30) ? { title: null, more: { a: 7 } } : data()),
    order,
    keep,
    at: (op) => place(op.startsWith('section.') ? sectionIds : itemIds),
  };
  const rare = new Set([
    'feed.replace', 'feed.clear', 'feed.delete', 'feed.reload', 'section.replace', 'section.delete',
  ]);
  const bag = Object.keys(operations).flatMap((op) => {
    const weight = op === 'item.upsert' ? 16 : rare.has(op) ? 1 : 5;
    return Array.from({ length: weight }, () => op);
  });
  const event = () => {
    const op = random.pick(bag);
    // A new item without a section is rejected.
    const has = ([name, isRequired]) => isRequired || (op === 'item.upsert' && name === 'section') || random.chance(60);
    const fields = Object.entries(operations[op]).filter(has);
    return { op, ...Object.fromEntries(fields.map(([name]) => [name, values[name](op)])) };
  };
  return Array.from({ length: count }, (_, offset) => {
    const feed = random.below(feeds.length);
    const value = random.chance(1) ? null
      : random.chance(30) ? Array.from({ length: random.below(5) }, event) : event();
    return {
      topic: random.pick(['feeds.items', 'feeds.sections']), partition: feed % 2, offset, ts: offset * 10,
      key: feeds[feed], value,
    };
  });
}

/**
 * Lines that follow those of `randomRecords`: a feed with eight items of almost the maximum size, and its deletion. So a
 * large changeset and a deletion are published, whatever the random records are.
 */
export function certainRecords({ count, dataBytes = 20 }) {
  const items = Array.from({ length: 8 }, (_, n) => ({ id: `large${n}`, data: 'x'.repeat(dataBytes - 2) }));
  const line = (offset, ts, value) => ({ topic: 'feeds.items', partition: 0, offset, ts, key: 'certain', value });
  return [
    line(count, count * 10, { op: 'feed.replace', sections: [{ id: 's', items }] }),
    // Not in the same window.
    line(count + 1, count * 10 + 10_000, { op: 'feed.delete' }),
  ];
}
