"""
Takes the pictures of the inspector for README.md: `make screenshots`. Plays the demo, opens a feed, and waits until a difference
with several kinds of changes is on the screen.
"""

import re
import subprocess
import sys
import threading

from inspector import Inspector, start_browser
from replay import FEEDSTORE, ROOT

FOLDER = ROOT / "docs" / "images"
FEED = "newsroom/home"
SIZE = (1160, 540)
# On slow networks, the picture appears before the rest of the page.
LARGEST_BYTES = 150_000
KINDS = {"inserted", "moved", "reconfigured"}


def shows_a_difference(page):
    """Whether the newest change is a difference whose rows are highlighted."""
    newest = page.first('[data-testid="changeset"]')
    if newest is None or newest.get_dom_attribute("data-mode") != "diff":
        return False
    words = {word for change in page.changes().values() for word in change.split()}
    return KINDS <= words and len(page.all('[data-testid="changeset"]')) >= 6


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    demo = subprocess.Popen(
        [str(FEEDSTORE), "demo", "--loop"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    driver = start_browser()
    try:
        url = next(found.group() for line in demo.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        # A full pipe would stop the demo.
        threading.Thread(target=demo.stdout.read, daemon=True).start()
        for scheme in ("light", "dark"):
            page = Inspector(driver, url)
            page.emulate(SIZE, scheme)
            page.follow(FEED)
            page.wait(lambda: shows_a_difference(page), "no difference is on the screen")
            path = FOLDER / f"inspector-{scheme}.png"
            driver.save_screenshot(str(path))
            size = path.stat().st_size
            print(f"{path.relative_to(ROOT)}: {size} bytes")
            if size > LARGEST_BYTES:
                sys.exit(f"{path.name} has {size} bytes; at most {LARGEST_BYTES} are allowed. Make the window smaller")
    finally:
        driver.quit()
        demo.terminate()
        demo.wait()


if __name__ == "__main__":
    main()
