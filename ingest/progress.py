"""The progress of an ingest."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plan import IngestPlan, NewPart


class IngestProgress:
    """Progress of an ingest, which the command line shows; this one shows nothing."""

    def looked(self) -> None:
        """One more file was looked at."""

    def hashed(self, size_bytes: int) -> None:
        """So many more bytes were hashed."""

    def reading(self, plan: "IngestPlan") -> None:
        """The plan is made; reading begins."""

    def read(self, part: "NewPart") -> None:
        """One more file is in the log."""

    def publishing(self) -> None:
        """The log is complete; the warehouse is brought up to date."""
