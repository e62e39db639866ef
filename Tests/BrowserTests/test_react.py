"""feedstore/react with the real React, on a store whose views the tests set."""

import os
import re
import subprocess

from inspector import Inspector
from replay import ROOT
from support import BrowserTest

NODE = os.environ.get("NODE", "node")
SERVE = ROOT / "clients" / "js" / "demo" / "serve.mjs"
# The driver's script timeout ends a wait for something that does not happen.
RUN = """
    const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);
    const { FakeStore, viewOf, show, Feed, Rows, Star, frame } = window.app ?? {};
    const text = (selector = '#root') => document.querySelector(selector).textContent;
    const settled = async (condition) => { while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5)); };
    (async () => { %s })().then((value) => done([value]), (error) => done(String(error.stack)));
"""


class ReactTest(BrowserTest):
    def setUp(self):
        super().setUp()
        server = subprocess.Popen([NODE, SERVE, "--port", "0", "--players", "0"], stdout=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        self.site = re.match("http://[^/]+", server.stdout.readline()).group()
        self.page = Inspector(self.driver, self.site)
        self.page.emulate()
        self.addCleanup(self.leave, self.page)

    def open(self, build="production.min"):
        self.driver.get(f"{self.site}/test/react/?react={build}")
        self.page.wait(lambda: self.page.run("return Boolean(window.app)"), "the page does not load")

    def run_in_page(self, script, *arguments):
        """The result of a function in the page, which may wait."""
        result = self.driver.execute_async_script(RUN % script, *arguments)
        self.assertIsInstance(result, list, result)
        return result[0]


class HookTests(ReactTest):
    def test_a_cell_is_rendered_once_a_frame_if_it_changed_and_otherwise_not(self):
        self.open()
        renders = self.run_in_page("""
            let view = viewOf([1, 2, 3]);
            const store = new FakeStore(view);
            show(store, [[Feed], [Feed, { window: { first: 3 } }]]);
            await settled(() => store.listenerCount === 2);
            for (let number = 10; number < 110; number++) {
              store.publish(view = viewOf([1, number, 3], { previous: view }));
              // React may render.
              await null;
            }
            await settled(() => text() === '11093'.repeat(2));
            await frame();
            return app.renders;
        """)
        self.assertEqual(renders, {"s": 4, "i0": 2, "i1": 4, "i2": 2})

    def test_what_the_user_wrote_is_shown_before_the_next_frame(self):
        self.open()
        shown = self.run_in_page("""
            let view = viewOf([1]);
            const store = new FakeStore(view);
            show(store, [[Feed]]);
            await settled(() => store.listenerCount === 1);
            store.publish(view = viewOf([2], { previous: view }), 'pending');
            await null;
            const shown = text();
            store.publish(viewOf([3], { previous: view }));
            await null;
            return [shown, text()];
        """)
        self.assertEqual(shown, ["2", "2"])

    def test_a_page_without_frames_shows_changes(self):
        self.open()
        self.run_in_page("""
            const store = new FakeStore(viewOf([1]));
            // As while a page is hidden.
            window.requestAnimationFrame = () => 0;
            show(store, [[Feed]]);
            await settled(() => store.listenerCount === 1);
            store.publish(viewOf([2]));
            await settled(() => text() === '2');
        """)

    def test_a_commit_shows_one_view_when_the_feed_changes_while_react_renders(self):
        self.open("development")
        was_between, commits = self.run_in_page("""
            const numbers = Array.from({ length: 20 }, (_, at) => at);
            const view = viewOf(numbers);
            const store = new FakeStore(view);
            show(store, [[Feed]], true);
            await settled(() => store.listenerCount === 1);
            // Each cell takes longer than React renders at a stretch.
            let rendered = 0, before;
            app.whileRendering = () => {
              rendered += 1;
              for (const start = performance.now(); performance.now() < start + 6;);
            };
            React.startTransition(() => app.set([[Feed], [Feed], [Feed]]));
            await settled(() => rendered >= 3);
            before = text();
            app.commits.length = 0;
            store.publish(viewOf(numbers.map((number) => number + 100), { previous: view }));
            app.whileRendering = null;
            await settled(() => app.commits.length > 0 && text().length === 3 * 20 * 3);
            return [before === numbers.join(''), app.commits];
        """)
        # Otherwise the feed did not change within the transition.
        self.assertTrue(was_between)
        one = "".join(str(100 + number) for number in range(20))
        self.assertLessEqual(set(commits), {one, one * 3})

    def test_strict_mode_leaves_one_subscription_and_unmounting_none(self):
        self.open("development")
        counts = self.run_in_page("""
            const store = new FakeStore(viewOf([1, 2, 3]));
            show(store, [[Feed], [Rows, { section: 's', from: 0, count: 2 }], [Star, { item: 'i0' }]], true);
            await settled(() => store.listenerCount > 0);
            const counts = [store.listenerCount];
            app.set([[Feed, { feed: 'another' }]]);
            await settled(() => store.feeds.some(({ id, listeners }) => id === 'another' && listeners.size > 0));
            counts.push(store.listenerCount);
            app.root.unmount();
            await settled(() => store.listenerCount === 0);
            return counts;
        """)
        self.assertEqual(counts, [2, 1])

    def test_a_thousand_mounts_leave_no_stream_no_timer_and_no_listener(self):
        self.open("development")
        left = self.run_in_page("""
            const timers = new Set();
            const counted = {
              setTimer: (run, wait) => {
                const timer = setTimeout(() => { timers.delete(timer); run(); }, wait);
                timers.add(timer);
                return timer;
              },
              clearTimer: (timer) => { clearTimeout(timer); timers.delete(timer); },
            };
            let requests = 0;
            const open = new Set();
            const fetch = (url, { signal }) => new Promise((_, reject) => {
              const own = ++requests;
              open.add(own);
              signal.addEventListener('abort', () => { open.delete(own); reject(signal.reason); });
            });
            const store = new app.FeedStore('http://127.0.0.1:9', { share: false, keep: 1, fetch, ...counted });
            show(store, [], true);
            await settled(() => app.set);
            for (let number = 0; number < 1000; number++) {
              const id = String(number % 7);
              ReactDOM.flushSync(() => app.set(number % 2 === 0 ? [[Feed, { feed: id }], [app.Item, { feed: id, item: 'a' }]] : []));
              if (number % 50 === 0) await frame();
            }
            app.root.unmount();
            await settled(() => open.size === 0 && timers.size === 0);
            return requests > 0;
        """)
        self.assertTrue(left)

    def test_a_component_that_shows_one_item_is_rendered_when_that_changes(self):
        self.open()
        renders = self.run_in_page("""
            let view = viewOf([1, 2]);
            const store = new FakeStore(view);
            show(store, [[app.Item, { item: 'i0' }], [app.Item, { item: 'i9' }]]);
            await settled(() => store.listenerCount === 2);
            for (const numbers of [[1, 3], [4, 3], [4, 5], [4, 6]]) {
              store.publish(view = viewOf(numbers, { previous: view }));
              await frame();
            }
            return [app.renders, text()];
        """)
        self.assertEqual(renders, [{"only i0": 2, "only i9": 1}, "4"])

    def test_a_component_suspends_until_there_is_a_state_and_an_error_boundary_gets_a_refusal(self):
        self.open()
        said = self.run_in_page("""
            const none = { ...viewOf([]), exists: false, sections: [] };
            const store = new FakeStore({ ...none, standing: { name: 'connecting' } });
            const said = [];
            const shows = async (expected) => { await settled(() => text() === expected); said.push([text(), store.listenerCount]); };
            show(store, [[app.Suspended]]);
            await shows('loading');
            store.publish({ ...none, standing: { name: 'catching-up' } }, 'standing');
            await frame();
            await shows('loading');
            store.publish(viewOf([1]), 'state');
            await shows('live 1');
            // The view stays.
            store.publish({ ...store.view, standing: { name: 'stale', reason: 'disconnected' } }, 'standing');
            await shows('stale 1');
            store.view = { ...none, standing: { name: 'connecting' } };
            app.set([[app.Suspended, { feed: 'another' }]]);
            await settled(() => store.feeds.some(({ id, listeners }) => id === 'another' && listeners.size > 0));
            store.publish({ ...none, standing: { name: 'stale', reason: 'forbidden', detail: 'not for you' } }, 'standing');
            await settled(() => text() === 'not for you');
            said.push(text());
            return said;
        """)
        self.assertEqual(said, [["loading", 1], ["loading", 1], ["live 1", 1], ["stale 1", 1], "not for you"])
        # React writes errors to the console, too.
        self.driver.get_log("browser")

    def test_another_window_is_shown_by_the_same_feed(self):
        self.open()
        windows = self.run_in_page("""
            const store = new FakeStore(viewOf([1, 2, 3]));
            const followed = () => store.feeds.filter(({ listeners }) => listeners.size > 0);
            const windows = [];
            for (const window of [{ first: 5 }, { first: 5 }, null, { sections: ['s'], first: 0 }]) {
              if (app.root) app.set([[Feed, { window }]]);
              else show(store, [[Feed, { window }]]);
              await settled(() => followed().length === 1);
              await settled(() => JSON.stringify(followed()[0].window) === JSON.stringify(window));
              windows.push([followed()[0].window, store.feeds.length]);
            }
            return windows;
        """)
        self.assertEqual(windows, [[{"first": 5}, 1], [{"first": 5}, 1], [None, 1], [{"sections": ["s"], "first": 0}, 1]])

    def test_a_virtual_list_asks_for_the_screen_and_a_margin_when_half_of_it_is_left(self):
        self.open()
        steps = self.run_in_page("""
            const store = new FakeStore(viewOf(Array.from({ length: 30 }, (_, at) => at), { of: 1000 }));
            const shown = (from) => [[Rows, { section: 's', from, count: 10, margin: 20 }]];
            const steps = [];
            show(store, shown(0));
            await settled(() => store.listenerCount === 1);
            for (const from of [0, 10, 11, 20, 21, 22, 500, 490, 489, 995, 0]) {
              // The effects, too.
              ReactDOM.flushSync(() => app.set(shown(from)));
              const { window } = store.feeds[0];
              steps.push([from, window.from, window.count, text('ol'), document.querySelectorAll('.missing').length]);
            }
            return steps;
        """)
        self.assertEqual(steps, [
            # From, what is asked for, what is shown, and how many rows wait for their items.
            [0, 0, 30, "0123456789", 0],
            [10, 0, 30, "10111213141516171819", 0],
            [11, 0, 41, "11121314151617181920", 0],
            [20, 0, 41, "20212223242526272829", 0],
            [21, 0, 41, "212223242526272829", 1],
            [22, 2, 50, "2223242526272829", 2],
            [500, 480, 50, "", 10],
            [490, 480, 50, "", 10],
            [489, 469, 50, "", 10],
            # The list ends.
            [995, 975, 50, "", 5],
            [0, 0, 30, "0123456789", 0],
        ])

    def test_a_component_says_what_came_of_its_writes(self):
        self.open()
        said, written, functions = self.run_in_page("""
            const store = new FakeStore(viewOf([1]));
            show(store, [[Star, { item: 'i0' }]]);
            await settled(() => document.getElementById('star'));
            const said = [];
            const say = async () => { await frame(); said.push(text('output')); };
            const star = document.getElementById('star');
            star.click();
            star.click();
            await say();
            store.writes[0].resolve({});
            await say();
            store.writes[1].reject(Object.assign(new Error('no'), { name: 'WriteRejected', code: 'forbidden' }));
            await say();
            star.click();
            await say();
            store.writes[2].reject(Object.assign(new Error('no'), { name: 'WriteFailed', code: null }));
            await say();
            document.getElementById('dismiss').click();
            await say();
            return [said, store.writes[0].events, app.writeFunctions.size];
        """)
        self.assertEqual(said, ["pending", "pending", "WriteRejected forbidden", "pending", "WriteFailed null", ""])
        self.assertEqual(written, {"op": "item.patch", "item": "i0", "data": {"starred": True}})
        self.assertEqual(functions, 1)

    def test_without_a_provider_the_error_says_what_to_do(self):
        self.open()
        text = self.run_in_page("""
            const { createElement } = React;
            ReactDOM.createRoot(document.getElementById('root')).render(createElement(app.Boundary, null, createElement(Feed)));
            await settled(() => text());
            return text();
        """)
        self.assertIn("put <FeedStoreProvider store={store}> around", text)
        # React writes errors to the console, too.
        self.driver.get_log("browser")
