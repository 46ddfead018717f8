"""The progress of an ingest."""


class IngestProgress:
    """Progress of an ingest, which the command line shows; this one shows nothing."""

    def looked(self) -> None:
        """One more file was looked at."""

    def hashed(self, size_bytes: int) -> None:
        """Further bytes were hashed."""

    def reading(self, files: int, size_bytes: int) -> None:
        """The plan is made: so much is to be read."""

    def read(self, size_bytes: int) -> None:
        """One more file is in the log."""

    def publishing(self) -> None:
        """The log is complete; the warehouse is brought up to date."""
