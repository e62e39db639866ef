"""The page of clients/js/demo, with players of a daemon."""

import json
import subprocess
import unittest

from selenium.webdriver.common.keys import Keys

from inspector import DESKTOP, PHONE
from test_react import NODE, SERVE
from test_react_live import LiveTest

PLAYERS = 2000


class LeaderboardTests(LiveTest):
    def setUp(self):
        super().setUp()
        self.players = subprocess.Popen(
            [NODE, SERVE, "--daemon", self.url, "--players", str(PLAYERS), "--port", "0"], stdout=subprocess.PIPE, encoding="utf-8",
        )
        self.addCleanup(self.players.stdout.close)
        self.addCleanup(self.players.wait)
        self.addCleanup(self.players.kill)
        self.assertIn("to watch 2,000 players", self.players.stdout.readline())

    def open_leaderboard(self):
        self.driver.get(f"{self.site}/demo/?daemon={self.url}")
        self.page.wait_for_text("header", f"{PLAYERS:,} players")
        self.page.wait_for_text("[role='status']", "Live")

    def places(self):
        """The positions in the document."""
        return self.page.run("return [...document.querySelectorAll('li')].map((place) => place.ariaPosInSet).map(Number)")

    def starred(self):
        items = json.loads(self.request("/v1/feeds/players"))["sections"][0]["items"]
        return [item["data"]["name"] for item in items if item["data"].get("starred")]

    def test_only_what_is_on_the_screen_is_in_the_document(self):
        self.open_leaderboard()
        self.assertEqual(self.places(), list(range(1, len(self.places()) + 1)))
        self.assertLess(len(self.places()), 60)
        self.page.wait_for("input").send_keys(str(PLAYERS), Keys.ENTER)
        self.page.wait(lambda: PLAYERS in self.places() and not self.page.first("li:not(:has(.player))"), "the last place is not shown")
        self.assertEqual(self.places()[-1], PLAYERS)
        self.assertLess(len(self.places()), 60)

    def test_a_player_who_gets_another_place_glides_there(self):
        self.page.emulate(is_still=False)
        self.open_leaderboard()
        self.run_in_page("""
            const isGliding = (place) => place.getAnimations().some(({ effect }) => effect.getKeyframes()[0].transform);
            await settled(() => [...document.querySelectorAll('li')].some(isGliding));
        """)
        for name, size, scheme in (("light", DESKTOP, "light"), ("dark", DESKTOP, "dark"), ("phone", PHONE, "light")):
            self.page.emulate(size, scheme, is_still=False)
            self.page.screenshot(f"leaderboard-{name}")

    def test_a_star_is_there_for_all_once_the_daemon_has_it(self):
        self.open_leaderboard()
        self.assertEqual(self.starred(), [])
        label = self.page.wait_for("li:nth-child(3) button").get_attribute("aria-label")
        star = f"button[aria-label='{label}']"
        self.page.click(star)
        self.page.wait_for(f"{star}[aria-pressed='true']:not([data-pending])")
        self.assertEqual([f"Star {name}" for name in self.starred()], [label])
        self.page.click(star)
        self.page.wait_for(f"{star}[aria-pressed='false']:not([data-pending])")
        self.assertEqual(self.starred(), [])

    def test_names_have_room_on_a_phone(self):
        self.page.emulate(PHONE)
        self.open_leaderboard()
        cut = "return [...document.querySelectorAll('.name')].filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.textContent)"
        self.assertEqual(self.page.run(cut), [])

    def test_a_person_reads_what_became_of_a_star_without_the_daemon(self):
        self.open_leaderboard()
        self.daemon.end()
        self.page.wait_for_text("[role='status']", "Offline")
        self.page.click("li:nth-child(3) button")
        said = self.page.wait_for("[role='alert']").text
        self.assertIn("The star was not saved", said)
        self.assertNotRegex(said, "http|section|protocol")
        self.driver.refresh()
        self.page.wait_for_text(".empty", "Loading the players")
        # The browser writes failed requests to the console.
        self.driver.get("about:blank")
        self.driver.get_log("browser")


if __name__ == "__main__":
    unittest.main()
