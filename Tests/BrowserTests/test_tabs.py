"""Tabs of one origin that share a connection of the JavaScript client."""

import unittest

from test_react_live import LiveTest

OPEN = """
    const [url, name, options] = given;
    // Says which tab has which locks.
    await new Promise((resolve) => { navigator.locks.request(name, () => new Promise(() => resolve())); });
    const { windows = [null], ...others } = options;
    window.store = new app.FeedStore(url, others);
    window.feeds = windows.map((it) => store.feed('f', it));
    window.feed = feeds[0];
    for (const each of feeds) each.subscribe(() => {});
"""
LEADER = """
    const { held } = await navigator.locks.query();
    const leaders = held.filter(({ name }) => /^feedstore \\S+ \\S+$/.test(name)).map(({ clientId }) => clientId);
    return held.filter(({ name, clientId }) => /^tab/.test(name) && leaders.includes(clientId)).map(({ name }) => name);
"""
SHOWN = "return [feed.view.standing.name, feed.view.item('a')?.data ?? null]"


class TabTests(LiveTest):
    def setUp(self):
        super().setUp()
        self.first = self.driver.current_window_handle
        self.tabs = {}

    def add(self, name, **options):
        self.driver.switch_to.new_window("tab")
        self.tabs[name] = self.driver.current_window_handle
        self.addCleanup(self.remove, name)
        self.open()
        self.run_in_page(OPEN, self.url, name, options)

    def remove(self, name):
        if name in self.tabs:
            self.close_window(self.tabs.pop(name))

    def wait_for(self, data):
        """Waits until all tabs show it over one stream."""
        for name, tab in self.tabs.items():
            self.driver.switch_to.window(tab)
            self.page.wait(lambda: self.page.run(SHOWN) == ["live", data], f"{name} does not show {data}")
        self.page.wait(lambda: self.streams() == "1", "there is not one stream")

    def test_eight_tabs_have_one_stream_whichever_of_them_is_closed(self):
        def send(data):
            self.write("f", {"op": "item.upsert", "item": "a", "section": "s", "data": data})

        send(0)
        for number in range(8):
            self.add(f"tab{number}")
        self.wait_for(0)
        for number in range(1, 8):
            [leader] = self.run_in_page(LEADER)
            self.remove(leader)
            # All but one are behind another one, which does not keep them from leading.
            self.driver.switch_to.window(next(iter(self.tabs.values())))
            send(number)
            self.wait_for(number)
        # A tab writes, while another one leads.
        self.add("tab8")
        outcome = self.run_in_page("return (await feed.write({ op: 'item.patch', item: 'a', data: 'written' })).feed")
        self.assertEqual(outcome, "f")
        self.wait_for("written")
        # One of its own is another stream.
        self.add("tab9", share=False)
        self.page.wait(lambda: self.page.run(SHOWN) == ["live", "written"], "tab9 does not show it")
        self.assertEqual(self.streams(), "2")

    def test_eight_windows_of_one_feed_in_one_page_and_in_eight_tabs_have_one_stream(self):
        self.write("f", *({"op": "item.upsert", "item": str(n), "section": "s", "data": n} for n in range(20)))
        windows = [{"first": n} for n in range(1, 9)]
        rows = "return feeds.map(({ view }) => view.standing.name === 'live' ? view.section('s').items.length : null)"
        patch = "return (await feed.write({ op: 'item.patch', item: '0', data: given[0] })).changed"
        self.add("page", windows=windows)
        self.page.wait(lambda: self.page.run(rows) == list(range(1, 9)), "a window has no rows")
        self.assertEqual([self.run_in_page(patch, "page"), self.streams()], [True, "1"])
        self.remove("page")
        self.driver.switch_to.window(self.first)
        for number, window in enumerate(windows):
            self.add(f"tab{number}", windows=[window])
        for number, tab in enumerate(self.tabs.values()):
            self.driver.switch_to.window(tab)
            self.page.wait(lambda: self.page.run(rows) == [number + 1], f"tab {number} has no rows")
            # Every tab still gets an answer.
            self.assertEqual(self.run_in_page(patch, str(number)), True)
        self.assertEqual(self.streams(), "1")


if __name__ == "__main__":
    unittest.main()
