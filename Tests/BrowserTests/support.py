"""Shared by all tests of the page: a browser, a server for each test, and a check of the console after it."""

import atexit
import functools
import unittest

from fake_server import FakeServer
from inspector import Inspector, start_browser


@functools.cache
def shared_browser():
    """One browser for all tests, because it starts slowly."""
    driver = start_browser()
    atexit.register(driver.quit)
    return driver


class BrowserTest(unittest.TestCase):
    def setUp(self):
        self.driver = shared_browser()

    def serve(self, found=(), **settings):
        """A server, and a page that has not been opened yet."""
        server = FakeServer(found, **settings)
        self.addCleanup(server.close)
        page = Inspector(self.driver, server.url)
        page.emulate()
        # Cleanups run in reverse order: the page is closed before its server.
        self.addCleanup(self.leave, page)
        return server, page

    def serve_published(self, found, **settings):
        """The same, with the first changeset of each feed published."""
        server, page = self.serve(found, **settings)
        for name in server.feeds:
            server.publish(name)
        return server, page

    def leave(self, page):
        complaints = page.complaints()
        # A blank page has no storage.
        self.driver.execute_script("if (location.protocol === 'http:') sessionStorage.clear()")
        self.driver.get("about:blank")
        self.assertEqual(complaints, [], "the console has complaints")

    def close_window(self, handle):
        self.driver.switch_to.window(handle)
        self.driver.close()
        self.driver.switch_to.window(self.driver.window_handles[0])

    def assert_shows(self, page, server, feed):
        """Asserts that the page shows the server's feed; for feeds that fit on the screen."""
        state = server.state(feed)
        expected = {name: [item["id"] for item in items] for name, items in state.items()}
        kinds = {item["id"]: item["kind"] for items in state.values() for item in items}

        def is_shown():
            drawn = page.drawn()
            return page.items(drawn) == expected and {row["item"]: row["kind"] for row in drawn if row["item"]} == kinds

        page.wait(is_shown, f"the page does not show {expected} with the kinds {kinds}")
