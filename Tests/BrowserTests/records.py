"""Records for the feeds of the tests. Each record has its own window, and so becomes a changeset."""

START = 1795168800000


def records(*values, feed="hn", start=START):
    """Each value is one record of a feed, a second after the one before."""
    return [{"ts": start + 1000 * number, "key": feed, "value": value} for number, value in enumerate(values)]


def story(name, **data):
    return {"id": name, "kind": "story", "data": {"title": name.capitalize(), **data}}


def section(name, items):
    return {"id": name, "data": {"title": name.capitalize()}, "items": items}


def replaced(*sections):
    return {"op": "feed.replace", "sections": list(sections)}


def small_feed():
    """A feed of two sections, and one changeset of each kind."""
    return records(
        replaced(
            section("top", [story(name, score=1) for name in ("apples", "bread", "cherries", "dates", "eggs")]),
            section("more", [story(name) for name in ("figs", "grapes")]),
        ),
        {"op": "item.upsert", "item": "honey", "section": "top", "kind": "story", "data": {"title": "Honey"}, "at": "first"},
        {"op": "item.move", "item": "eggs", "section": "top", "at": "first"},
        {"op": "item.patch", "item": "bread", "data": {"score": 2}},
        {"op": "item.upsert", "item": "dates", "kind": "ad", "data": {"title": "Dates"}},
        {"op": "item.delete", "item": "cherries"},
        {"op": "feed.reload"},
        [{"op": "item.move", "item": "bread", "at": "first"}, {"op": "item.patch", "item": "bread", "data": {"score": 3}}],
        {"op": "section.move", "section": "more", "at": "first"},
        None,
    )


def large_feed(count=10000):
    """A feed of many items in ten sections, and a few changes in the middle."""
    size = count // 10
    sections = [
        section(f"s{number}", [story(f"item{at}", score=at) for at in range(number * size, (number + 1) * size)])
        for number in range(10)
    ]
    middle = f"item{count // 2 + size // 2}"
    return middle, records(
        replaced(*sections),
        {"op": "item.patch", "item": middle, "data": {"score": -1}},
        {"op": "item.upsert", "item": "new", "section": "s5", "kind": "story", "at": {"before": middle}},
        {"op": "item.move", "item": "item0", "section": "s5", "at": {"after": middle}},
        {"op": "item.upsert", "item": "at-the-end", "section": "s9", "kind": "story"},
    )


def odd_numbers():
    """Two versions of data that parsers of JSON change, as the text of replay lines. The second version differs in spelling."""
    versions = (
        (('{"id":9007199254740993}', '{"x":1e400}', '{"v":1.0}', '{"a":1,"a":2}', '{"10":1,"9":2}', '-0', '"caf\\u00e9\\/"')),
        (('{"id":9007199254740992}', '{"x":1e500}', '{"v":1}', '{"a":3,"a":2}', '{"9":2,"10":1}', '0', '"caf\u00e9/"')),
    )
    names = ("id", "range", "price", "twice", "order", "zero", "text")
    for number, values in enumerate(versions):
        events = ",".join(
            f'{{"op":"item.upsert","item":"{name}","section":"s","data":{data}}}' for name, data in zip(names, values))
        yield f'{{"ts":{START + 1000 * number},"key":"numbers","value":[{events}]}}\n'
