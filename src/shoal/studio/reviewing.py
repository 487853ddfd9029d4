"""Actions on a release that somebody else made and that is under review here."""

from shoal.release.review import Review
from shoal.studio.session import Session
from shoal.vocabulary.errors import InputError


class Reviewing:
    """A session, and what a second person does to it."""

    def __init__(self) -> None:
        self.session = Session()

    async def do_review(self, text: str, name: str) -> None:
        """Open a release that somebody else made, for review."""
        self.session = self.session.reviewed(Review.of_text(text, name))

    async def do_comment(self, by: str, text: str, rejects: bool = False) -> None:
        review = self._review.rejected if rejects else self._review.commented
        self.session = self.session.reviewed(review(by, text))

    async def do_approve(self, by: str) -> None:
        self.session = self.session.reviewed(self._review.approved(by))

    async def do_leave(self) -> None:
        """Leave the review."""
        self.session = self.session.reviewed(None)

    @property
    def _review(self) -> Review:
        if self.session.review is None:
            raise InputError("No release is under review. Open the file that was handed to you.")
        return self.session.review

    def reviewed_text(self) -> str:
        """The review with its comments, as the text of a file."""
        return self._review.text
