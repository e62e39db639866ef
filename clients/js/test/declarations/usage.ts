// What the declarations allow, and what they do not.
import { FeedStore, FeedView, Item, Update, WriteFailed, WriteRejected } from 'feedstore';
import { Replica } from 'feedstore/replica';

const store = new FeedStore(['http://a', 'http://b'], { token: async () => 'x' });
new FeedStore('http://a', { share: 'ann' });
new FeedStore('http://a', { share: false });
const feed = store.feed('news', { first: 10 });

export async function show(): Promise<void> {
  for await (const update of feed) {
    const view: FeedView = update.view;
    for (const section of view.sections) for (const item of section.items) draw(item, section.from + 1);
    if (update.kind === 'changed') draw(view.item(update.change.items.insert[0].id));
    // @ts-expect-error Only `changed` says what has changed.
    if (update.kind === 'state') draw(update.change.items);
    // @ts-expect-error There is no such kind.
    if (update.kind === 'gone') return;
    if (view.standing.name === 'stale' && view.standing.reason === 'moved') draw(view.standing.detail ?? '');
    // @ts-expect-error There is no such reason.
    if (view.standing.reason === 'lost') return;
    // @ts-expect-error A view never changes.
    view.sections = [];
    // @ts-expect-error Nor do its lists.
    view.sections.push(view.sections[0]);
    // @ts-expect-error Nor its items.
    view.sections[0].items[0].data = 1;
    // @ts-expect-error It is null without a state.
    draw(view.revision + 1);
    // @ts-expect-error An item has its section's id.
    draw(view.item('a')?.section.items);
  }
}

const albums = store.feed<{ title: string }>('albums', null, { parse: (data) => data as { title: string }, initial: feed.view.toJSON() });
for (const { items } of albums.view.sections) for (const { data, error } of items) draw(data.title, String(error));
albums.subscribe(({ view }) => draw(view.item('a')?.data.title));
// @ts-expect-error There is no such member.
albums.view.item('a')?.data.artist;
const applied: Promise<{ topic: string } | null> = albums.apply([...albums.view.sections, { id: 's', items: ['a', { id: 'b', data: 1 }] }]);
void applied;
// @ts-expect-error An item has an id.
albums.apply([{ id: 's', items: [{ data: 1 }] }]);
new FeedStore('http://a', { keep: 0, persist: { feeds: (id) => id !== 'large', user: 'ann' } });

const end: () => void = feed.subscribe((update: Update) => draw(update.view.isPending));
end();
feed.show({ sections: ['top'], from: 5, count: 5 });
feed.show();
// @ts-expect-error A window has no such member.
feed.show({ last: 5 });
// @ts-expect-error
store.feed(7);
// @ts-expect-error A store needs a URL.
new FeedStore();
// @ts-expect-error The token is a function, because it is asked for again.
new FeedStore('http://a', { token: 'x' });

export async function write(): Promise<void> {
  try {
    const { topic, revision } = await feed.write({ op: 'item.patch', item: 'a', data: { starred: true } }, { wait: 5 });
    draw(topic, revision ?? 0);
    await feed.write([{ op: 'item.move', item: 'a', at: { before: 'b' } }, { op: 'feed.clear' }]);
    // @ts-expect-error There is no such operation.
    await feed.write({ op: 'item.star', item: 'a' });
    // @ts-expect-error It needs an item.
    await feed.write({ op: 'item.delete' });
    // @ts-expect-error There is no such place.
    await feed.write({ op: 'item.move', item: 'a', at: 'top' });
  } catch (error) {
    if (error instanceof WriteRejected) draw(error.code.length);
    // @ts-expect-error It is null without a response.
    if (error instanceof WriteFailed) draw(error.code.length);
  }
}

const outcome = new Replica('f').apply('{}');
if (outcome.type === 'applied') draw(outcome.change.mode);
// @ts-expect-error Only `applied` has a change.
if (outcome.type === 'removed') draw(outcome.change);

function draw(..._values: (Item | undefined | string | number | boolean)[]): void {}
