"""Courses over time in pages: their numbers, compressed, and the script and style that draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairweir.show.bundle import bundle
from fairweir.show.frame import encode
from fairweir.show.packed import pack
from fairweir.show.picture import Picture


@dataclass(frozen=True)
class CourseFigure:
    """A figure of a report whose panels have a common time axis and a common cursor.

    Attributes
    ----------
    id : str, unique in the page and a valid HTML id
    title : str, shown above the figure
    caption : str, explanation shown below the figure
    picture : Picture
    """

    id: str
    title: str
    caption: str
    picture: Picture


@dataclass(frozen=True)
class Drawing:
    """The numbers of courses, and the script and style by which a page draws them.

    Attributes
    ----------
    numbers : str, the packed frame of the pictures by the names of their elements
    script, style : the text of a script element and of a style element
    """

    numbers: str
    script: Markup
    style: Markup


def drawing_of(courses: Mapping[str, Sequence[Picture]]) -> Drawing:
    """Return what a page needs to draw courses, each in the element with its name as ``data-runs``.

    Parameters
    ----------
    courses : by name, the pictures that are drawn over each other
    """
    frame = encode({name: [one.document() for one in pictures] for name, pictures in courses.items()})
    return Drawing(
        pack(frame),
        Markup(bundle("viewer.js").replace("</script", "<\\/script")),  # noqa: S704 - our own file
        Markup(bundle("viewer.css")),  # noqa: S704 - our own file
    )
