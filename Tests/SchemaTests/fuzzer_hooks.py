"""For schemathesis: reads the data of Server-Sent Events, and says what a schema cannot."""

import json
import re

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# Which parameters need each other, that a list has each feed once, that an id's bytes count, that a whole number of an event has
# digits only (to a schema 7.0 is one); what of an event depends on the feed; which parameters a poll and a stream do not share, and
# which versions are known. The fuzzer also takes headers for valid that do not match their pattern.
UNSAID = re.compile(
    r"needs .*(section|as well)|exclude each other|was given before|bytes; expected|found the number \S*[.eE]"
    r"|with n an integer >= 0, found the object|expected one tag as in ETag"
    '|"code":"(unknown-anchor|unknown-section|ordered-section|condition-failed|duplicate-id|limit-exceeded|must-refetch)"'
    r'|(cursor|wait|lastEventId)\\" is not known here|ndjson needs after'
)


@schemathesis.hook
def filter_case(context, case):
    """Without feeds a stream has nothing more to say than its name, and would be read until the time is up."""
    return case.body != {"feeds": []}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A request may be rejected for reasons outside of the schema."""
    return not (isinstance(failure, RejectedPositiveData) and UNSAID.search(response.text))


@schemathesis.deserializer("text/event-stream")
def events(context, response):
    found = []
    for block in response.content.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line[:1] not in ("", ":"))
        if "data" in fields:
            found.append({"event": "message"} | fields | {"data": json.loads(fields["data"])})
    return found
