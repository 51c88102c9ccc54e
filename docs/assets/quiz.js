// BAD or GOOD: one statement at a time. Without this script all are listed, answers folded.
"use strict";
(() => {
  const root = document.querySelector(".wb-quiz");
  if (!root) return;
  const part = (selector) => root.querySelector(selector);
  const store = window.wbStore("quiz");
  const items = [...root.querySelectorAll(".wb-item")];
  const choices = part(".wb-choices"), next = part(".wb-next"), heard = part(".wb-heard"), standing = part(".wb-standing");
  let queue = [], item;

  function shuffled(list) {
    const mixed = [...list];
    for (let i = mixed.length - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
    }
    return mixed;
  }

  // New ones first, then those answered wrongly, then the rest.
  function refill() {
    const rank = (one) => ({ undefined: 0, false: 1, true: 2 })[String(store.get(one.dataset.key))];
    queue = shuffled(items).sort((a, b) => rank(a) - rank(b));
  }

  function show(focus) {
    if (!queue.length) refill();
    item = queue.shift();
    for (const one of items) { one.hidden = one !== item; one.querySelector("details").open = false; }
    item.querySelector("details").hidden = true;
    choices.hidden = false;
    next.hidden = true;
    if (focus) item.querySelector("blockquote").focus();
  }

  function answer(label) {
    const right = label === item.dataset.label;
    store.set(item.dataset.key, right);
    heard.textContent = right ? `Right: ${item.dataset.word}.` : `No. This one is: ${item.dataset.word}.`;
    heard.dataset.right = right;
    const details = item.querySelector("details");
    details.hidden = false;
    details.open = true;
    choices.hidden = true;
    next.hidden = false;
    heard.focus();
    tell();
  }

  function tell() {
    const keys = new Set(items.map((one) => one.dataset.key));
    const answered = store.names().filter((key) => keys.has(key));
    const right = answered.filter((key) => store.get(key) === true).length;
    standing.textContent = `${answered.length} of ${items.length} answered, ${right} right`;
  }

  choices.addEventListener("click", (event) => {
    const button = event.target.closest("[data-answer]");
    if (button) answer(button.dataset.answer);
  });
  next.querySelector("button").addEventListener("click", () => show(true));
  part("[data-do=forget]").addEventListener("click", () => { store.forget(); tell(); refill(); show(true); });
  standing.hidden = part(".wb-quiz-foot").hidden = false;
  refill();
  tell();
  show(false);
})();
