"""What can go wrong."""

from typing import Optional


class FeedStoreError(Exception):
    """The base of all errors of this package."""


class ReplicaFault(FeedStoreError, ValueError):
    """Why a record cannot be applied.

    `code` is `invalid-key`, `invalid-changeset` (it is none, or another feed's), `unknown-element` (an entry names an element that
    does not exist, or inserts one that does), `position` (an element is not where the changeset says) or `checksum` (the
    resulting order or kinds differ).
    """

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


class WriteRejected(FeedStoreError):
    """The write changed nothing. `code` is that of the rejection, such as `unknown-anchor` or `forbidden`."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


class WriteFailed(FeedStoreError):
    """The outcome of the write is not known, or the daemon could not take it. `code` is that of the response; None without one."""

    def __init__(self, code: Optional[str], message: str):
        super().__init__(message)
        self.code = code


class KafkaRefused(FeedStoreError):
    """Kafka refuses a request for good; the message has the remedy."""
