/** How `feedstore/react` is used, and what the compiler refuses. */
import { FeedStore, type FeedView, type Item, WriteFailed, WriteRejected, type Written } from 'feedstore';
import { FeedStoreProvider, type Row, useFeed, useFeedStore, useWindow, useWrite } from 'feedstore/react';

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

const { write, isPending, error, dismiss } = useWrite('players');
const written: Promise<Written> = write({ op: 'item.patch', item: 'ada', data: { starred: true } }, { wait: 5 });
write([{ op: 'item.delete', item: 'ada' }, { op: 'item.move', item: 'alan', at: { after: 'mary' } }]);
// @ts-expect-error
write({ op: 'item.rename', item: 'ada' });
if (error instanceof WriteRejected) error.code.length;
else if (error instanceof WriteFailed) error.code?.length;
dismiss();

export { first, ids, isPending, store, written };
