// The mock interview: draws a card, keeps time, reveals, scores. Without this script all cards are listed.
"use strict";
(() => {
  const root = document.querySelector(".wb-interview");
  if (!root) return;
  const part = (selector) => root.querySelector(selector);
  const store = window.wbStore("interview");
  const cards = [...root.querySelectorAll(".wb-drill")];
  const draw = part(".wb-draw"), clock = part(".wb-clock"), score = part(".wb-score"), progress = part(".wb-progress");
  const time = part(".wb-time"), bar = part(".wb-run-down"), told = clock.querySelector("[aria-live]");
  const startButton = clock.querySelector("[data-do=start]"), revealButton = clock.querySelector("[data-do=reveal]");
  let card, seconds = 30, endsAt = 0, left = 0, ticking;

  const chosen = () => new FormData(draw);
  const fitting = () => cards.filter(({ dataset }) =>
    ["topic", "level"].every((name) => !chosen().get(name) || dataset[name] === chosen().get(name)));
  const timesPractised = (one) => store.get(one.dataset.slug)?.times ?? 0;

  function countLeft() {
    const found = fitting().length;
    part(".wb-left").textContent = `${found} question${found === 1 ? "" : "s"}`;
    draw.querySelector("button").disabled = found === 0;
  }

  // Least practised first, never the same card twice in a row while there is another.
  function pick() {
    const fit = fitting();
    const others = fit.length > 1 ? fit.filter((one) => one !== card) : fit;
    const least = Math.min(...others.map(timesPractised));
    const rare = others.filter((one) => timesPractised(one) === least);
    return rare[Math.floor(Math.random() * rare.length)];
  }

  function show(next) {
    card = next;
    for (const one of cards) { one.hidden = one !== card; one.querySelector("details").open = false; }
    score.hidden = true;
    clock.hidden = false;
    revealButton.disabled = false;
    seconds = Number(chosen().get("seconds"));
    reset();
    card.querySelector("h2").focus();
  }

  const clockText = (s) => `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
  function drawClock() {
    time.textContent = clockText(left);
    bar.value = left / seconds;
  }

  function reset() {
    stop();
    left = seconds;
    told.textContent = "";
    startButton.textContent = "Start the timer";
    drawClock();
  }

  function stop() { clearInterval(ticking); ticking = undefined; }

  function tick() {
    const before = left;
    left = Math.max(0, Math.ceil((endsAt - Date.now()) / 1000));
    if (left === before) return;
    drawClock();
    if (before > seconds / 2 && left <= seconds / 2 && left > 0) told.textContent = `${left} seconds left`;
    if (left > 0) return;
    stop();
    told.textContent = "Time is up";
    startButton.textContent = "Start again";
  }

  function toggleTimer() {
    if (ticking) {
      stop();
      startButton.textContent = "Go on";
      return;
    }
    if (left === 0) reset();
    endsAt = Date.now() + left * 1000;
    ticking = setInterval(tick, 200);
    startButton.textContent = "Pause";
  }

  function reveal() {
    const details = card.querySelector("details");
    details.open = true;
    details.querySelector("summary").focus();
  }

  function onRevealed(one) {
    if (one !== card || !one.querySelector("details").open || !score.hidden) return;
    stop();
    startButton.textContent = left > 0 ? "Go on" : "Start again";
    revealButton.disabled = true;
    recall(store.get(card.dataset.slug)?.marks ?? {});
    score.hidden = false;
    const known = store.get(card.dataset.slug) ?? {};
    store.set(card.dataset.slug, { ...known, times: timesPractised(card) + 1 });
    tellProgress();
  }

  function recall(marks) {
    for (const field of score.elements) {
      if (field.type === "checkbox") field.checked = marks[field.name] === true;
      if (field.type === "radio") field.checked = marks[field.name] === field.value;
    }
    sum();
  }

  function marksNow() {
    const marks = {};
    for (const field of score.elements) {
      if (field.type === "checkbox") marks[field.name] = field.checked;
      if (field.type === "radio" && field.checked) marks[field.name] = field.value;
    }
    return marks;
  }

  const memoryPoints = (marks) => Object.keys(marks).filter((name) => name.startsWith("memory-") && marks[name]).length;
  const memoryMost = [...score.elements].filter((field) => field.name.startsWith("memory-")).length;
  function routingPoints(marks, output) {
    const [routing, memory] = [Number(output.dataset.routing), Number(output.dataset.memory)];
    const got = routing * Number(marks["weight-routing"] ?? 0) + memory * Number(marks["weight-memory"] ?? 0);
    return `${got} of ${routing + memory} at ${routing}:${memory}`;
  }

  function sum() {
    const marks = marksNow();
    for (const output of score.querySelectorAll(".wb-sum")) {
      output.textContent = output.dataset.sum === "memory"
        ? `${memoryPoints(marks)} of ${memoryMost}` : routingPoints(marks, output);
    }
    return marks;
  }

  function onScore() {
    const marks = sum();
    store.set(card.dataset.slug, { ...store.get(card.dataset.slug), marks });
    tellProgress();
  }

  function scoresOf(one) {
    const marks = store.get(one.dataset.slug)?.marks;
    if (!marks) return "not scored";
    const routing = [...score.querySelectorAll("[data-sum=routing]")].map((output) => routingPoints(marks, output));
    return [`memory ${memoryPoints(marks)} of ${memoryMost}`, ...routing.map((text) => `routing ${text}`)].join(", ");
  }

  function tellProgress() {
    const done = cards.filter((one) => timesPractised(one) > 0);
    progress.hidden = false;
    progress.querySelector(".wb-summary").textContent = `${done.length} of ${cards.length} questions practised`;
    progress.querySelector("ul").replaceChildren(...done.map((one) => {
      const line = document.createElement("li");
      line.textContent = `${one.querySelector("h2").textContent} ${scoresOf(one)}`;
      return line;
    }));
  }

  draw.addEventListener("submit", (event) => { event.preventDefault(); show(pick()); });
  draw.addEventListener("input", countLeft);
  startButton.addEventListener("click", toggleTimer);
  revealButton.addEventListener("click", reveal);
  score.addEventListener("input", onScore);
  score.addEventListener("submit", (event) => event.preventDefault());
  progress.querySelector("[data-do=forget]").addEventListener("click", () => { store.forget(); tellProgress(); });
  for (const one of cards) {
    one.hidden = true;
    one.querySelector("details").addEventListener("toggle", () => onRevealed(one));
  }
  draw.hidden = false;
  countLeft();
  tellProgress();
})();
