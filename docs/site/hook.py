"""What the site needs beside MkDocs: pages from outside docs/, and links to files that are no page.

It refuses links to files that do not exist, and pages that load something from another place.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "charts/understudy/README.md": "reference/chart.md",
    "e2e/cluster/README.md": "contributing/cluster.md",
    "images/README.md": "contributing/image.md",
}
SOURCES = {page: source for source, page in PAGES.items()}

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"([-*]|\d+\.) ")
LOADED = re.compile(
    r"<(script|img|iframe)\b[^>]*\bsrc=[\"']?(https?:|//)"
    r"|<link\b[^>]*\brel=[\"']?(stylesheet|preconnect|preload)[^>]*(https?:|=[\"']?//)"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    shown = page.file.src_uri
    source = SOURCES.get(shown, f"docs/{shown}")
    return "\n".join(
        line if is_code else LINK.sub(lambda match: _link(match, source, shown, files), line)
        for line, is_code in _lines(markdown)
    )


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    if found := LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from another place: {found[0]}")
    return output


def _link(match: re.Match[str], source: str, page: str, files: Files) -> str:
    """A link in the file `source` of the repository as a link in `page` of the site.

    A file that is no page is only named.
    """
    path, hash_sign, anchor = match["target"].partition("#")
    if not path or "://" in path:
        return match[0]
    target = normpath(str(PurePosixPath(source).parent / path))
    if not (ROOT / target).exists():
        raise PluginError(f"{source} links to {target}, which does not exist")
    shown = PAGES.get(target) or _in_docs(target, files)
    if shown is None:
        return match["text"] if path.rstrip("/") in match["text"] else f"{match['text']} (`{target}`)"
    target = relpath(shown, PurePosixPath(page).parent)
    return f"{match['image']}[{match['text']}]({target}{hash_sign}{anchor})"


def _in_docs(target: str, files: Files) -> str | None:
    """The file of the site that shows a file or a folder of docs/."""
    if not target.startswith("docs/"):
        return None
    inside = target.removeprefix("docs/")
    return next((file for file in (inside, f"{inside}/README.md") if files.get_file_from_path(file)), None)


def _lines(markdown: str) -> list[tuple[str, bool]]:
    """Each line, and whether it is code.

    As on GitHub, a list may begin right after a paragraph: MkDocs wants an empty line between the two.
    """
    result: list[tuple[str, bool]] = []
    in_code = False
    before = ""
    for line in markdown.splitlines():
        is_fence = FENCE.match(line) is not None
        begins_list = ITEM.match(line) and before.strip() and not ITEM.match(before.lstrip())
        if begins_list and not in_code and not before.startswith(" "):
            result.append(("", False))
        result.append((line, in_code or is_fence))
        in_code ^= is_fence
        before = line
    return result
