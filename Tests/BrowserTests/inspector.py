"""The inspector in a headless Chromium: actions on the page, and its content."""

import json
import pathlib

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from replay import ROOT

SCREENSHOTS = ROOT / ".build" / "screenshots"
# The timeout for the page, on a machine that is also used by others.
PATIENCE_SECONDS = 300
DESKTOP = (1440, 900)
PHONE = (390, 844)


def start_browser(arguments=(), preferences=None):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--lang=en",
        "--window-size=1440,900", "--no-first-run", "--disable-background-networking", *arguments,
    ):
        options.add_argument(argument)
    options.add_experimental_option("prefs", preferences or {})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.set_page_load_timeout(PATIENCE_SECONDS)
    driver.set_script_timeout(PATIENCE_SECONDS)
    return driver


class Inspector:
    def __init__(self, driver, url):
        self.driver = driver
        self.url = url

    def open(self, feed=None):
        # Changing only the fragment loads nothing.
        self.driver.get("about:blank")
        self.driver.get(self.url + "/" + ("" if feed is None else self.fragment(feed)))

    def fragment(self, feed):
        return self.driver.execute_script("return '#feed=' + encodeURIComponent(arguments[0])", feed)

    def follow(self, feed):
        """Opens a feed, and waits until it is shown."""
        self.open(feed)
        self.wait_for_standing("live")

    # Conditions.

    def wait(self, condition, what):
        """Waits until a function returns a true value; elements may disappear meanwhile."""
        waiting = WebDriverWait(
            self.driver, PATIENCE_SECONDS, poll_frequency=0.05, ignored_exceptions=[StaleElementReferenceException],
        )
        return waiting.until(lambda _: condition(), what)

    def wait_for(self, selector):
        return self.wait(lambda: self.first(selector), f"there is no {selector}")

    def click(self, selector):
        """Clicks an element once it exists; rows are replaced while a list is drawn."""
        def is_clicked():
            found = self.first(selector)
            if found is not None:
                found.click()
            return found is not None

        self.wait(is_clicked, f"there is no {selector} to click")

    def wait_for_text(self, selector, text):
        self.wait(lambda: text in self.text(selector), f"{selector} does not say {text!r}")

    def wait_for_standing(self, standing):
        self.wait(lambda: self.standing() == standing, f"it does not become {standing}")
        self.wait_for_frame()

    def wait_for_frame(self):
        """Rows are drawn in the next frame, after a change of the standing, or scrolling."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def wait_for_revision(self, revision):
        self.wait_for(f'[data-testid="changeset"][data-revision="{revision}"]')

    # Content.

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def first(self, selector):
        return next(iter(self.all(selector)), None)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def is_shown(self, selector):
        """Whether there is such an element, and it is displayed."""
        found = self.first(selector)
        return found is not None and found.is_displayed()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def standing(self):
        return self.run("return document.getElementById('standing').dataset.standing")

    def feeds(self):
        return self.run("return [...document.querySelectorAll('#feeds a')].map((link) => link.dataset.feed)")

    def drawn(self):
        """The sections and items in the document, from top to bottom."""
        return self.run("""
            return [...document.querySelectorAll('#canvas > .row:not(.gone)')].map((row) => ({
                section: row.dataset.section ?? null, item: row.dataset.item ?? null, index: Number(row.ariaRowIndex) - 2,
                change: row.dataset.change ?? '', kind: row.dataset.kind ?? null,
                data: row.querySelector('.data').textContent,
            })).sort((a, b) => a.index - b.index)
        """)

    def items(self, drawn=None):
        """The ids of the items in the document, by the section's id; for feeds that fit on the screen."""
        found, section = {}, None
        for row in self.drawn() if drawn is None else drawn:
            if row["section"] is not None:
                section = found.setdefault(row["section"], [])
            else:
                section.append(row["item"])
        return found

    def changes(self):
        """The highlighted rows, with their changes."""
        return {row["item"] or row["section"]: row["change"] for row in self.drawn() if row["change"]}

    def is_focused(self, selector):
        return self.run("return document.activeElement?.matches(arguments[0]) ?? false", selector)

    def active_row(self):
        """The item or section with the keyboard focus."""
        return self.run("""
            const row = document.getElementById(document.getElementById('rows').getAttribute('aria-activedescendant'));
            return row?.dataset.item ?? row?.dataset.section ?? null;
        """)

    # User actions.

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_with(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def activate(self, item):
        """Moves the keyboard's focus to one of the first items."""
        self.run("document.getElementById('rows').focus()")
        self.press(Keys.HOME)
        self.wait_for_frame()
        for _ in range(10):
            if self.active_row() == item:
                return
            self.press(Keys.ARROW_DOWN)
            self.wait_for_frame()
        raise AssertionError(f"{item} does not get the focus")

    def save_data(self, text):
        """Types the data of the item that is being edited."""
        self.wait(lambda: self.is_focused("textarea"), "the text does not get the focus")
        self.press_with(Keys.CONTROL, "a")
        self.press(text)
        self.press_with(Keys.CONTROL, Keys.ENTER)

    def wait_for_edit(self, item, kind):
        """Waits until an item is `draft`, `pending`, `refused`, or None of these."""
        script = "return document.querySelector(arguments[0])?.dataset.edit ?? null"
        self.wait(lambda: self.run(script, f'[data-item="{item}"]') == kind, f"{item} does not become {kind}")

    def scroll_to(self, fraction):
        self.run("const it = document.getElementById('rows'); it.scrollTop = arguments[0] * it.scrollHeight", fraction)

    # Appearance.

    def emulate(self, size=DESKTOP, scheme="light", is_still=True):
        width, height = size
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        motion = "reduce" if is_still else "no-preference"
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion},
        ])

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.driver.save_screenshot(str(path))
        return path

    def complaints(self):
        """Errors and warnings on the console, except failed requests and broken connections."""
        return [
            entry["message"] for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING") and entry["source"] != "network"
        ]
