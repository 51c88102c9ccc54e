// A number opens its row of evidence beside itself. Without this script the same link leads to the row.
"use strict";
(() => {
  const bubble = document.createElement("div");
  if (!("popover" in bubble)) return;
  bubble.popover = "auto";
  bubble.className = "wb-pop md-typeset";
  bubble.tabIndex = -1;
  bubble.setAttribute("role", "dialog");
  bubble.setAttribute("aria-label", "Where this number comes from");
  document.body.append(bubble);

  const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  const text = (row, part) => row.querySelector(part)?.textContent ?? "n/a";

  const rowOf = (link) => (link.pathname === location.pathname ? document.getElementById(link.hash.slice(1)) : null);

  function fill(row, link) {
    const list = document.createElement("dl");
    const add = (name, value) => list.append(element("dt", name), element("dd", value));
    add("value", `${text(row, ".wb-value")} (n = ${text(row, ".wb-n")})`);
    add("smallest to largest", text(row, ".wb-interval"));
    add("lane", text(row, ".wb-lane"));
    add("date", text(row, ".wb-date"));
    add("versions", text(row, ".wb-versions"));
    if (row.querySelector(".wb-mine")) add("your machine", text(row, ".wb-mine"));
    const more = element("a", "Row of evidence");
    more.href = link.hash;
    more.addEventListener("click", () => bubble.hidePopover());
    bubble.replaceChildren(element("b", text(row, ".wb-label")), list, element("code", text(row, ".wb-repeat code")), more);
  }

  function place(link) {
    const at = link.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - bubble.offsetWidth - 12);
    const below = at.bottom + 8 + bubble.offsetHeight < window.innerHeight;
    bubble.style.left = `${Math.max(12, left)}px`;
    bubble.style.top = `${below ? at.bottom + 8 : Math.max(8, at.top - bubble.offsetHeight - 8)}px`;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.wb-fact");
    const row = link && !event.ctrlKey && !event.metaKey && rowOf(link);
    if (!row) return;
    event.preventDefault();
    fill(row, link);
    bubble.showPopover();
    place(link);
    bubble.focus({ preventScroll: true });
    bubble.ontoggle = (change) => { if (change.newState === "closed") link.focus({ preventScroll: true }); };
  });
})();
