"""What of a log was rejected, by reason, for the commands that read it and go on without it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from starskip.errors import SourceError
from starskip.pinot.logs.log_summary import LogSummary, log_summary


@dataclass(slots=True)
class RejectedRecords:
    """Gathers batches of LOG_RECORDS; ``first_files``: by reason, the first file that has such a record."""

    summary: LogSummary = field(default_factory=LogSummary)
    first_files: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, batch: pa.RecordBatch) -> None:
        """Count the records of a batch, which were read from ``path``."""
        counted = log_summary(batch)
        self.summary += counted
        for reason in counted.rejected:
            self.first_files.setdefault(reason, path)

    def warnings(self) -> list[str]:
        """Return a sentence a reason.

        Raises SourceError if every record of the log was rejected: then it is no log that is known here.
        """
        rejected = self.summary.rejected
        sentences = [
            f"{rejected[reason]} log records rejected: {reason}, the first in {self.first_files[reason]}"
            for reason in sorted(rejected)
        ]
        if rejected and self.summary.records == sum(rejected.values()):
            raise SourceError(
                f"no query in the log, {'; '.join(sentences)} (starskip parse-log --rejected 5 shows them)",
                source=self.first_files[min(rejected)],
            )
        return sentences
