"""feedstore/react on a feed that the daemon serves: renders are counted while random events are written."""

import json
import random
import re
import subprocess
import unittest
import urllib.error
import urllib.request

from replay import ROOT
from test_daemon import URL, Feedstore
from test_react import ReactTest

# The document's content in the form of a reload, without the items' sections.
DRAWN = """
    const content = (element) => JSON.parse(element.dataset.content);
    return [...document.querySelectorAll('[data-section]')].map((section) => ({
      ...content(section), items: [...section.querySelectorAll('[data-item]')].map(content),
    }));
"""


class LiveTest(ReactTest):
    def setUp(self):
        super().setUp()
        settings = {
            "http.enabled": "true", "http.port": 0, "http.writes.enabled": "true", "http.allowedOrigins": self.site, "coalesce.window": 20,
        }
        self.daemon = daemon = Feedstore(self, "run", "--embedded", *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")))
        self.url = daemon.wait_for(URL)
        # Before that, writes are not waited for.
        daemon.wait_for("event=restore.finished")

    def request(self, path, events=None):
        content = None if events is None else json.dumps(events).encode()
        request = urllib.request.Request(self.url + path, content, {"Prefer": "wait=30"})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def write(self, feed, *events):
        """Whether the events are accepted; then the daemon serves a state that includes them."""
        try:
            revision = json.loads(self.request(f"/v1/feeds/{feed}/events", events))["revision"]
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 422)
            return False
        self.page.wait(lambda: self.state(feed)["revision"] >= revision, "the write is not served")
        return True

    def state(self, feed):
        try:
            return json.loads(self.request(f"/v1/feeds/{feed}"))
        except urllib.error.HTTPError as error:
            # It is published, and not served yet.
            self.assertIn(error.code, (404, 503))
            return {"revision": 0}

    def sections(self, feed, first=None):
        """The feed, or the first items of each section."""
        return [{**section, "items": section.get("items", [])[:first]} for section in self.state(feed).get("sections", [])]

    def show(self, *components, strict=False):
        self.run_in_page("""
            const [url, components, isStrict] = given;
            show(new app.FeedStore(url, { share: false }), components.map(([name, properties]) => [app[name], properties]), isStrict);
        """, self.url, components, strict)

    def streams(self):
        return [line for line in self.request("/metrics").decode().splitlines() if line.startswith("feedstore_http_streams ")][0].split()[1]


class RandomEvents:
    """Events of a feed of a few sections and items."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def place(self, names):
        return self.random.choice(["first", "last", {"index": self.random.randrange(8)}, {"after": self.random.choice(names)}])

    def event(self):
        pick = self.random.choice
        items, sections = [f"i{number}" for number in range(12)], ["s0", "s1", "s2"]
        item, section, data = pick(items), pick(sections), {"n": self.random.randrange(4)}
        return pick([
            {"op": "item.upsert", "item": item, "section": section, "data": data},
            {"op": "item.upsert", "item": item, "section": section, "kind": pick("ab"), "at": self.place(items)},
            {"op": "item.patch", "item": item, "data": data},
            {"op": "item.patch", "item": item, "data": {"m": self.random.randrange(4)}},
            {"op": "item.move", "item": item, "at": self.place(items)},
            {"op": "item.move", "item": item, "section": section},
            {"op": "item.delete", "item": item},
            {"op": "section.upsert", "section": section, "data": data},
            {"op": "section.move", "section": section, "at": self.place(sections)},
            {"op": "section.replace", "section": section, "items": self.random.sample(items, 3)},
            {"op": "section.delete", "section": section},
            {"op": "feed.reload"},
        ])

    def record(self):
        return [self.event() for _ in range(self.random.choice([1, 1, 2, 5]))]


def elements(sections):
    """The text of each cell and each section, by its id."""
    items = {item["id"]: (section["id"], item) for section in sections for item in section["items"]}
    return items, {section["id"]: section for section in sections}


class CountedRenders(LiveTest):
    STEPS = 100

    def play(self, first, strict=False):
        """Writes random events, and returns how often each item and each section was rendered, and how often it changed."""
        seed = random.randrange(2**32)
        print(f"\nseed {seed}", flush=True)
        events, expected = RandomEvents(seed), {}
        self.write("f", *({"op": "item.upsert", "item": f"i{number}", "section": "s0"} for number in range(8)))
        self.show(("Feed", {} if first is None else {"window": {"first": first}}), strict=strict)
        before = ({}, {})
        for step in range(self.STEPS):
            sections = self.sections("f", first)
            self.page.wait(lambda: self.page.run(DRAWN) == sections, f"seed {seed}, step {step}: the page does not show {sections}")
            now = elements(sections)
            for old, new in zip(before, now):
                for name, content in new.items():
                    expected[name] = expected.get(name, 0) + (old.get(name) != content)
            before = now
            if step < self.STEPS - 1:
                while not self.write("f", *events.record()):
                    pass
        return self.page.run("return app.renders"), expected, f"seed {seed}"

    def test_cells_and_sections_are_rendered_when_they_change_and_not_otherwise(self):
        self.open()
        renders, expected, seed = self.play(None)
        self.assertEqual(renders, expected, seed)

    def test_the_same_of_the_first_items_of_each_section(self):
        self.open()
        renders, expected, seed = self.play(2)
        # A section also changes with the number of its items, which is not sent with each change.
        self.assertEqual(*({name: number for name, number in counts.items() if name[0] == "i"} for counts in (renders, expected)), seed)

    def test_strict_mode_shows_the_same_over_one_stream_which_ends_with_the_component(self):
        self.open("development")
        self.play(2, strict=True)
        self.assertEqual(self.streams(), "1")
        self.page.run("app.root.unmount()")
        self.page.wait(lambda: self.streams() == "0", "the stream stays open")


class WriteTests(LiveTest):
    def write_in_page(self, *events):
        """Writes in the page, and returns what the cell of `a` showed before, meanwhile and after."""
        return self.run_in_page("""
            const cell = () => document.querySelector('[data-item="a"]');
            const shown = () => `${cell()?.dataset.content} ${cell()?.dataset.pending}`;
            await settled(cell);
            const found = [shown()];
            new MutationObserver(() => { if (shown() !== found.at(-1)) found.push(shown()); }).observe(cell(), { attributes: true });
            let outcome = 'written';
            await app.write(given[0]).catch((error) => { outcome = `${error.name} ${error.code}`; });
            await settled(() => cell().dataset.pending === 'false');
            await frame();
            return [outcome, ...found];
        """, events)

    def test_what_is_written_is_pending_until_the_feed_has_it_or_it_is_rejected(self):
        self.write("f", {"op": "item.upsert", "item": "a", "section": "s", "data": {"n": 1}})
        self.open()
        self.show(("Feed", {}), ("Star", {"item": "a"}))
        def cell(data, is_pending):
            return f'{{"id":"a","kind":"","data":{data}}} {is_pending}'

        patch = {"op": "item.patch", "item": "a", "data": {"starred": True}}
        starred = '{"n":1,"starred":true}'
        self.assertEqual(self.write_in_page(patch), ["written", cell('{"n":1}', "false"), cell(starred, "true"), cell(starred, "false")])
        patch = {"op": "item.patch", "item": "a", "data": {"starred": False}}
        rejected = {"op": "item.move", "item": "a", "at": {"before": "unknown"}}
        self.assertEqual(self.write_in_page(patch, rejected), [
            "WriteRejected unknown-anchor", cell(starred, "false"), cell('{"n":1,"starred":false}', "true"), cell(starred, "false"),
        ])
        self.page.wait_for_text("output", "WriteRejected unknown-anchor")


class ReadmeTests(LiveTest):
    """The blocks of JSX in the client's README, in their order."""

    BLOCKS = re.findall("^```jsx react\n(.*?)^```$", (ROOT / "clients" / "js" / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    RENDERED = """
        import { FeedStore } from 'feedstore';
        import { FeedStoreProvider } from 'feedstore/react';
        import { createRoot } from 'react-dom/client';
        const store = new FeedStore('http://127.0.0.1:8321');
        createRoot(document.getElementById('root')).render(<FeedStoreProvider store={store}><Players /></FeedStoreProvider>);
    """

    def show_block(self, code):
        code = code.replace("http://127.0.0.1:8321", self.url)
        built = subprocess.run(["esbuild", "--loader=jsx", "--format=esm"], input=code, capture_output=True, encoding="utf-8")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.open()
        self.run_in_page("await import(URL.createObjectURL(new Blob(given, { type: 'text/javascript' })))", built.stdout)

    def items(self):
        return [item.text for item in self.page.all("li")]

    def test_tap_to_show_5_and_tap_a_star(self):
        self.write("albums", *({"op": "item.upsert", "item": f"{n}", "section": "all", "data": {"title": f"Album {n}"}} for n in range(12)))
        self.show_block(self.BLOCKS[0])
        albums = [f"Album {n} ☆" for n in range(12)]
        self.page.wait(lambda: self.items() == albums[:5], "the first five are not shown")
        first = self.page.first("li")
        self.page.click("section > button")
        self.page.wait(lambda: self.items() == albums, "not all are shown")
        self.page.click("li:nth-child(8) button")
        albums[7] = "Album 7 ★"
        self.page.wait(lambda: self.items() == albums and not self.page.first("button:disabled"), "the star is not shown")
        self.assertEqual(self.sections("albums")[0]["items"][7]["data"], {"title": "Album 7", "starred": True})
        self.page.click("section > button")
        self.page.wait(lambda: self.items() == albums[:5], "more than five are shown")
        self.assertEqual(self.page.first("li"), first)

    def test_a_virtual_list(self):
        self.write("players", *({"op": "item.upsert", "item": f"{n}", "section": "all", "data": {"name": f"p{n}"}} for n in range(1000)))
        self.show_block(self.BLOCKS[1] + self.RENDERED)
        self.page.wait(lambda: self.items() == [f"{n + 1}. p{n}" for n in range(21)], "the first rows are not shown")
        self.page.run("document.querySelector('ol').parentElement.scrollTop = 15000")
        self.page.wait(lambda: self.items() == [f"{n + 1}. p{n}" for n in range(500, 521)], "the rows in the middle are not shown")
        self.assertEqual(len(self.BLOCKS), 2)


if __name__ == "__main__":
    unittest.main()
