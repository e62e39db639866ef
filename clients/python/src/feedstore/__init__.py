"""Follows FeedStore's feeds, and writes to them.

    import feedstore

    with feedstore.FeedStore("http://127.0.0.1:8321") as store:
        for update in store.feed("news"):
            for section in update.view.sections:
                print(section.id, [item.data for item in section.items])
"""

from .errors import FeedStoreError, KafkaRefused, ReplicaFault, WriteFailed, WriteRejected
from .model import (
    WHOLE, Change, FeedView, Item, ItemChanges, ItemMove, ItemPlace, ItemPosition, Section, SectionChanges, SectionMove, SectionPlace,
    Standing, Update, Window, Written,
)
from .store import Feed, FeedStore
from .writes import Write

__version__ = "0.1.0"
__all__ = [
    "WHOLE", "Change", "Feed", "FeedStore", "FeedStoreError", "FeedView", "Item", "ItemChanges", "ItemMove", "ItemPlace",
    "ItemPosition", "KafkaRefused", "ReplicaFault", "Section", "SectionChanges", "SectionMove", "SectionPlace", "Standing", "Update",
    "Window", "Write", "WriteFailed", "WriteRejected", "Written",
]
