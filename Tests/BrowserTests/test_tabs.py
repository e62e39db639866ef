"""Tabs of one origin that share a connection of the JavaScript client."""

import unittest

from test_react_live import LiveTest

OPEN = """
    const [url, name, options] = given;
    // Says which tab has which locks.
    await new Promise((resolve) => { navigator.locks.request(name, () => new Promise(() => resolve())); });
    window.feed = new app.FeedStore(url, options).feed('f');
    feed.subscribe(() => {});
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


if __name__ == "__main__":
    unittest.main()
