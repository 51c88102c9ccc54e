// The picture in the page becomes a live chart once it is seen. Without this script the picture stays.
"use strict";
(() => {
  const root = new URL("..", document.currentScript.src);
  let bundle;

  function loadVega() {
    bundle ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.type = "module"; // keeps the bundle's names out of the page
      script.src = new URL("assets/vega/vega.js", root);
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
    return bundle;
  }

  const themed = (text) =>
    Object.entries(window.wbColours).reduce((all, [colour, variable]) => all.replaceAll(colour, variable), text);

  async function enliven(plot) {
    const [answer] = await Promise.all([fetch(plot.dataset.spec), loadVega()]);
    if (!answer.ok) return;
    const specification = JSON.parse(themed(await answer.text()));
    const stage = document.createElement("div");
    const tooltip = { disableDefaultStyle: true };
    const { view } = await window.vegaEmbed(stage, specification, { renderer: "svg", actions: false, tooltip });
    const drawing = stage.querySelector("svg");
    drawing.removeAttribute("width");
    drawing.removeAttribute("height");
    plot.replaceChildren(stage);
    plot.dataset.live = "yes";
    plot.wbView = view;
  }

  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      enliven(target).catch(() => { target.dataset.live = "no"; }); // the picture stays
    }
  }, { rootMargin: "200px" });
  document.querySelectorAll(".wb-plot[data-spec]").forEach((plot) => seen.observe(plot));
})();
