// Filters of the claim ledger. Without this script all claims are listed and the filters stay hidden.
"use strict";
(() => {
  const form = document.querySelector(".wb-filters");
  if (!form) return;
  const claims = [...document.querySelectorAll(".wb-claim")];
  const count = form.querySelector(".wb-count");

  function fits(claim, wanted) {
    return wanted.every(([name, value]) => {
      const known = claim.dataset[name];
      return !value || (name === "lane" ? known.split(" ").includes(value) : known === value);
    });
  }

  function apply() {
    const wanted = [...new FormData(form)];
    for (const claim of claims) claim.hidden = !fits(claim, wanted);
    const left = claims.filter((claim) => !claim.hidden).length;
    count.textContent = `${left} of ${claims.length} claims`;
  }

  // A link to one claim opens what stands behind it.
  function open() {
    const more = document.querySelector(`.wb-claim[id="${CSS.escape(location.hash.slice(1))}"] .wb-more`);
    if (more) more.open = true;
  }

  form.hidden = false;
  addEventListener("hashchange", open);
  open();
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
})();
