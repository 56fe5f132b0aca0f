"use strict";
(() => {
  const root = document.documentElement;
  const drawn = new Set();
  let specs = {};
  const hiddenCcas = new Set();

  const ink = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function themed(layout) {
    const axis = {
      gridcolor: ink("--grid"), linecolor: ink("--rule"), zerolinecolor: ink("--rule"), tickcolor: ink("--rule"),
      showline: true, ticks: "outside", ticklen: 4, automargin: true,
    };
    const whole = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 56, r: 12, t: 10, b: 44 },
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink("--ink") },
      hoverlabel: { bgcolor: ink("--card"), bordercolor: ink("--rule"), font: { color: ink("--ink") } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink("--soft"), activecolor: ink("--accent") },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      hovermode: "closest", dragmode: "zoom", ...layout, autosize: true,
    };
    whole.xaxis = whole.xaxis ?? {};
    whole.yaxis = whole.yaxis ?? {};
    for (const key of Object.keys(whole)) {
      if (/^[xy]axis\d*$/.test(key)) whole[key] = { ...axis, ...whole[key] };
    }
    return whole;
  }

  const config = {
    // Nothing leaves the page: without this, each figure has a button that uploads it to Plotly.
    showSendToCloud: false, plotlyServerURL: "",
    displaylogo: false, responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
  };

  function draw(plot) {
    const spec = structuredClone(specs[plot.id]);
    for (const trace of spec.data) {
      if (trace.meta && hiddenCcas.has(trace.meta.cca)) trace.visible = false;
    }
    drawn.add(plot);
    return Plotly.react(plot, spec.data, themed(spec.layout), config);
  }
  const redraw = () => drawn.forEach(draw);

  // Text that is compressed in an element of the page (fairweir/show/packed.py).
  async function unpack(element) {
    const bytes = Uint8Array.from(atob(element.textContent.trim()), (c) => c.charCodeAt(0));
    element.remove();
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  // Loads plotly and the figures' specifications. An element's text runs as a script, as the page's policy permits.
  async function load() {
    const packed = document.getElementById("plotly");
    if (!packed) return;
    const script = document.createElement("script");
    script.textContent = await unpack(packed);
    specs = JSON.parse(await unpack(document.getElementById("specs")));
    document.head.append(script);
    script.remove();
  }

  // One figure a task, so that the page stays responsive; a figure that fails says so and does not stop the others.
  const waiting = [];
  function drawNext() {
    const plot = waiting.shift();
    if (!plot) return;
    try { draw(plot); } catch (error) { plot.textContent = "This figure cannot be drawn: " + error.message; }
    setTimeout(drawNext);
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        waiting.push(entry.target);
        if (waiting.length === 1) setTimeout(drawNext);
      }
    }
  }, { rootMargin: "600px 0px" });
  load().then(() => document.querySelectorAll(".plot").forEach((plot) => seen.observe(plot)));

  // A figure as a file: on the page's paper rather than transparent, named after the page and the figure.
  document.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", async () => {
    const plot = document.getElementById(button.dataset.save);
    if (!window.Plotly) return;
    if (!drawn.has(plot)) await draw(plot);
    const { data, layout } = plot;
    const figure = { data, layout: { ...layout, paper_bgcolor: ink("--paper"), title: { text: "" } } };
    const filename = `${document.title.replace(/[^\p{L}\p{N}_.]+/gu, "-")}-${plot.id}`.slice(0, 120);
    await Plotly.downloadImage(figure, { format: button.dataset.kind, width: plot.clientWidth, height: plot.clientHeight, scale: 2, filename });
  }));

  // Theme: the system's, until the reader chooses; paper is always white.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = (isDark) => { root.dataset.theme = isDark ? "dark" : "light"; redraw(); };
  paint(dark.matches);
  dark.addEventListener("change", () => paint(dark.matches));
  document.getElementById("theme").addEventListener("click", () => paint(root.dataset.theme !== "dark"));
  let before = "light";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    document.querySelectorAll(".plot").forEach((plot) => { if (plot.offsetParent) draw(plot); });
  });
  addEventListener("afterprint", () => paint(before === "dark"));

  // Tabs.
  document.querySelectorAll("[role=tablist]").forEach((list) => {
    const tabs = [...list.querySelectorAll("[role=tab]")];
    const select = (chosen) => tabs.forEach((tab) => {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    });
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => select(tab));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) { const next = tabs[(i + step + tabs.length) % tabs.length]; select(next); next.focus(); }
      });
    });
  });

  // What is shown.
  document.querySelectorAll("input[data-filter]").forEach((box) => box.addEventListener("change", () => {
    document.body.classList.toggle(box.dataset.filter, box.checked);
  }));
  document.querySelectorAll("input[data-cca]").forEach((box) => box.addEventListener("change", () => {
    const cca = box.dataset.cca;
    if (box.checked) hiddenCcas.delete(cca); else hiddenCcas.add(cca);
    document.querySelectorAll("[data-cca]").forEach((part) => {
      if (part.tagName !== "INPUT" && part.dataset.cca === cca) part.hidden = !box.checked;
    });
    redraw();
  }));

  // A link to a claim opens its evidence.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // Pages opened from disk may not have a clipboard: leave the text selected.
      getSelection().selectAllChildren(code);
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }));
})();
