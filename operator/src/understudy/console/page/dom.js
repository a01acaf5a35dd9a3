// Elements from values. Text becomes text nodes only: nothing here ever interprets a string as markup.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "path", "rect", "line", "circle", "text", "g", "title"]);

/** An element; children that are null or false are left out. */
export function h(tag, attributes = {}, ...children) {
  const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) made.append(child);
  }
  return made;
}

/** Makes `old` look like `fresh`, and keeps every element that can stay, so that focus and scrolling stay. */
export function morph(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !name.startsWith("data-kept")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const wanted = [...fresh.childNodes];
  wanted.forEach((next, place) => {
    const found = old.childNodes[place];
    if (!found) old.append(next);
    else if (!same(found, next)) found.replaceWith(next);
    else if (found.nodeType === Node.TEXT_NODE) {
      if (found.data !== next.data) found.data = next.data;
    } else morph(found, next);
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.dataset?.key ?? "") === (b.dataset?.key ?? "");
}
