// What a reader has done, kept in this browser only. Where storage is denied it lasts as long as the page.
"use strict";
window.wbStore = (name) => {
  const key = `weighbridge.${name}`;
  let kept = {};
  try {
    const read = JSON.parse(localStorage.getItem(key) ?? "{}");
    if (read && typeof read === "object" && !Array.isArray(read)) kept = read;
  } catch { /* denied or damaged: start anew */ }

  function save() {
    try { localStorage.setItem(key, JSON.stringify(kept)); } catch { /* denied or full: memory only */ }
  }

  return {
    get: (item) => (Object.hasOwn(kept, item) ? kept[item] : undefined),
    set: (item, value) => { kept[item] = value; save(); },
    names: () => Object.keys(kept),
    forget: () => {
      kept = {};
      try { localStorage.removeItem(key); } catch { /* denied: nothing was kept */ }
    },
  };
};
