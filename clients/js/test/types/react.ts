/** How `feedstore/react` is used, and what the compiler refuses. */
import { FeedStore, type FeedView, type Immutable, type Item, WriteFailed, WriteRejected, type Written } from 'feedstore';
import { FeedStoreProvider, type Row, useFeed, useFeedStore, useItem, useSuspenseFeed, useWindow, useWrite } from 'feedstore/react';

FeedStoreProvider({ store: new FeedStore('http://127.0.0.1:8321'), children: ['text', null] });
// @ts-expect-error A URL is no store.
FeedStoreProvider({ store: 'http://127.0.0.1:8321' });

const store: FeedStore = useFeedStore();
const view: FeedView = useFeed('news');
const part: FeedView = useFeed('news', { sections: ['top'], first: 5 });
// @ts-expect-error
useFeed('news', { last: 5 });
// @ts-expect-error A view never changes.
view.sections.push(part.sections[0]!);

const { rows, of, section } = useWindow('players', { section: 'all', from: 10, count: 20 });
const ids: string[] = rows.map(({ index, item }: Row) => item?.id ?? `missing ${index} of ${of}`);
// @ts-expect-error It may not have arrived.
const first: Item = rows[0]!.item;
// @ts-expect-error
section.items;
// @ts-expect-error It must be a section's.
useWindow('players', { from: 10, count: 20 });

interface Player { name: string; tags: string[] }
const typed: Item<Player> | undefined = useFeed<Player>('players').item('ada');
const name: string = useItem<Player>('players', 'ada')!.data.name;
const tags: readonly string[] = useSuspenseFeed<Player>('players', { first: 5 }).sections[0]!.items[0]!.data.tags;
const row: Row<Player> = useWindow<Player>('players', { section: 'all', from: 0, count: 5 }).rows[0]!;
// The type is that of what `parse` returns.
const length: number = useFeed('players', null, { parse: (data) => ({ length: String(data).length }) }).item('ada')!.data.length;
// @ts-expect-error There is no such member.
useItem<Player>('players', 'ada')!.data.score;
// @ts-expect-error What a view holds cannot be changed.
typed!.data.name = 'Ada';
// @ts-expect-error Nor can what is in it.
typed!.data.tags.push('new');
const frozen: Immutable<{ deep: { list: number[] } }> = { deep: { list: [1] } };
// @ts-expect-error
frozen.deep.list = [];

const { write, isPending, error, dismiss } = useWrite('players');
const written: Promise<Written> = write({ op: 'item.patch', item: 'ada', data: { starred: true } }, { wait: 5, if: { item: 'ada', data: { '/starred': false } } });
write([{ op: 'item.delete', item: 'ada' }, { op: 'item.move', item: 'alan', at: { after: 'mary' } }]);
// @ts-expect-error
write({ op: 'item.rename', item: 'ada' });
if (error instanceof WriteRejected) error.code.length;
else if (error instanceof WriteFailed) error.code?.length;
dismiss();

export { first, ids, length, name, row, tags, isPending, store, written };
