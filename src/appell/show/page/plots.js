/* Curves with one cursor: a click or a drag on any of them moves the time of all, and of the animation. */
"use strict";

/* About `wanted` round numbers from low to high, at least two. */
appell.nice = function (low, high, wanted) {
  const raw = (high - low) / wanted || 1, power = 10 ** Math.floor(Math.log10(raw)), steps = [1, 2, 5, 10].map((x) => x * power);
  const between = (step) => {
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
    return ticks;
  };
  const first = steps.findIndex((step) => step >= raw), ticks = between(steps[first]);
  return ticks.length > 1 ? ticks : between(first ? steps[first - 1] : power / 2);
};

appell.figure = (x) => {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(0) : String(+x.toPrecision(6));
  return text.replace("-", "−").replace("e+", "e");
};

/* A value at the cursor: four digits, with a power of ten if these would all be zero. */
appell.reading = (y) => {
  if (!Number.isFinite(y)) return "–";
  const size = Math.abs(y), text = y === 0 ? "0" : size >= 1e5 || size < 1e-3 ? y.toExponential(2) : y.toPrecision(4);
  return text.replaceAll("-", "−").replace("e+", "e");
};

appell.DASHES = [[], [6, 4], [2, 3], [9, 3, 2, 3]];

appell.Plot = class {
  constructor(root, panel, seek) {
    Object.assign(this, { root, panel, seek, now: null });
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", panel.label);
    const stage = root.querySelector(".plot");
    stage.append(this.canvas);
    this.marks = (panel.portrait ? panel.curves : [null]).map((curve) => {
      const mark = document.createElement("div");
      mark.className = curve ? "spot" : "cursor";
      stage.append(mark);
      return mark;
    });
    this.seen = true;
    this.hidden = new Set();
    this.readings = root.querySelectorAll(".reading");
    this.range();
    this.watch(stage);
    this.legend();
    if (!panel.portrait) {
      const go = (e) => { const r = this.canvas.getBoundingClientRect(); this.seek(this.x.low + ((e.clientX - r.left - this.left) / (r.width - this.left - this.right)) * (this.x.high - this.x.low)); };
      this.canvas.onpointerdown = (e) => { this.canvas.setPointerCapture(e.pointerId); go(e); };
      this.canvas.onpointermove = (e) => e.buttons && go(e);
    }
  }
  /* Listeners that redraw the plot; `dispose` removes them all when the plot is replaced. */
  watch(stage) {
    const dark = matchMedia("(prefers-color-scheme: dark)"), again = () => this.draw();
    const seen = new IntersectionObserver(([entry]) => { if ((this.seen = entry.isIntersecting)) this.cursor(this.now ?? this.x.low); });
    const size = new ResizeObserver(again);
    seen.observe(stage); size.observe(this.root); dark.addEventListener("change", again);
    this.dispose = () => { seen.disconnect(); size.disconnect(); dark.removeEventListener("change", again); this.gone = true; };
  }
  /* Clicking an entry of the legend hides or shows its curve; hovering over it, or focusing it, highlights the curve. */
  legend() {
    this.root.querySelectorAll("button.curve").forEach((entry, n) => {
      const bring = (which) => { if (this.brought !== which) { this.brought = which; this.draw(); } };
      entry.onclick = () => {
        this.hidden.has(n) ? this.hidden.delete(n) : this.hidden.add(n);
        entry.setAttribute("aria-pressed", !this.hidden.has(n));
        this.draw();
      };
      entry.onpointerenter = entry.onfocus = () => bring(n);
      entry.onpointerleave = entry.onblur = () => bring(undefined);
    });
  }
  range() {
    const spread = (arrays, log) => {
      let low = Infinity, high = -Infinity;
      for (const a of arrays) for (const v of a) if (Number.isFinite(v) && (!log || v > 0)) { low = Math.min(low, v); high = Math.max(high, v); }
      if (low > high) return log ? { low: -1, high: 0, empty: true } : { low: 0, high: 1 };
      if (log) { low = Math.floor(Math.log10(Math.max(low, 1e-8 * high)) - 0.1); high = Math.ceil(Math.log10(high) + 0.1); return { low, high }; }
      const size = Math.max(Math.abs(low), Math.abs(high));
      if (high - low < 1e-6 * size || high === low) { const m = (low + high) / 2, d = 0.1 * Math.abs(m) || 1; return { low: m - d, high: m + d }; }
      return { low: low - 0.05 * (high - low), high: high + 0.05 * (high - low) };
    };
    const { panel } = this;
    this.y = spread(panel.curves.map((c) => c.y.data), panel.log);
    const x = panel.curves.map((c) => c.x.data);
    this.x = panel.portrait ? spread(x) : { low: x[0][0], high: x[0][x[0].length - 1] };
    if (this.x.low === this.x.high) this.x.high = this.x.low + 1;
  }
  place(width, height, left, top) {
    const bottom = 26, right = (this.right = 10), { x, y, panel } = this;
    this.left = left;
    return [(v) => left + ((v - x.low) / (x.high - x.low)) * (width - left - right),
            (v) => height - bottom - ((((panel.log ? Math.log10(v) : v) - y.low) / (y.high - y.low)) * (height - bottom - top)), left, bottom, top];
  }
  draw() {
    if (this.gone || !this.canvas.parentElement) return;
    const width = this.canvas.parentElement.clientWidth, height = this.panel.portrait ? 230 : this.panel.log ? 120 : 170;
    if (!width) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2), c = this.canvas.getContext("2d");
    this.canvas.width = width * ratio; this.canvas.height = height * ratio;
    this.canvas.style.height = `${height}px`;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = "12px system-ui, sans-serif";
    const { panel } = this;
    const ticks = panel.log ? appell.nice(this.y.low, this.y.high, 3).filter(Number.isInteger).map((k) => 10 ** k) : appell.nice(this.y.low, this.y.high, 4);
    const wide = (text) => c.measureText(text).width, widest = Math.max(0, ...ticks.map((v) => wide(appell.figure(v))));
    this.places = this.place(width, height, Math.max(30, Math.ceil(widest) + 12), panel.ylabel ? 24 : 8);
    const palette = appell.palette(), [px, py, left, bottom, top] = this.places, right = width - this.right;
    this.marks.forEach((mark, n) => {
      if (panel.portrait) mark.style.backgroundColor = palette[panel.curves[n].colour] || panel.curves[n].colour;
      else Object.assign(mark.style, { top: `${top}px`, height: `${height - bottom - top}px` });
    });
    c.fillStyle = palette.grey;
    for (const [a, b] of panel.contacts || []) { c.globalAlpha = 0.14; c.fillRect(px(a), top, Math.max(px(b) - px(a), 1), height - top - bottom); c.globalAlpha = 1; }
    for (const [a, b] of panel.sticks || []) { c.globalAlpha = 0.6; c.fillRect(px(a), top, Math.max(px(b) - px(a), 1), 4); c.globalAlpha = 1; }
    c.strokeStyle = palette.grey;
    if (panel.ylabel) { c.textAlign = "left"; c.textBaseline = "top"; c.fillText(panel.ylabel, Math.max(2, left - 6 - wide(panel.ylabel)), 2); }
    c.textAlign = "right"; c.textBaseline = "middle";
    for (const v of ticks) {
      c.globalAlpha = 0.25; c.beginPath(); c.moveTo(left, py(v)); c.lineTo(right, py(v)); c.stroke(); c.globalAlpha = 1;
      c.fillText(appell.figure(v), left - 6, py(v));
    }
    c.textAlign = "center"; c.textBaseline = "top";
    const room = width - 4 - (panel.xlabel ? wide(panel.xlabel) + 10 : 0);  // numbers end where the label of the axis begins
    for (const v of appell.nice(this.x.low, this.x.high, Math.max(3, Math.min(8, width / 90)))) {
      c.globalAlpha = 0.25; c.beginPath(); c.moveTo(px(v), top); c.lineTo(px(v), height - bottom); c.stroke(); c.globalAlpha = 1;
      if (px(v) + wide(appell.figure(v)) / 2 <= room) c.fillText(appell.figure(v), px(v), height - bottom + 5);
    }
    if (panel.xlabel) { c.textAlign = "right"; c.fillText(panel.xlabel, width - 4, height - bottom + 5); c.textAlign = "center"; }
    if (this.y.empty) { c.fillText("zero at every sample", width / 2, height / 2 - 12); }
    c.save(); c.beginPath(); c.rect(left, top - 2, right - left, height - bottom - top + 4); c.clip();
    panel.curves.forEach((curve, n) => {
      if (this.hidden.has(n)) return;
      const X = curve.x.data, Y = curve.y.data, brought = this.brought === n;
      c.globalAlpha = this.brought === undefined || brought ? 1 : 0.2;
      c.strokeStyle = palette[curve.colour] || curve.colour; c.lineWidth = brought ? 2.4 : 1.5; c.setLineDash(appell.DASHES[(curve.dash || 0) % 4]);
      c.beginPath();
      let pen = false, before = 0;
      for (let k = 0; k < X.length; k++) {
        if (!Number.isFinite(Y[k]) || !Number.isFinite(X[k]) || (panel.log && !(Y[k] > 0))) { pen = false; continue; }
        const x = px(X[k]), y = py(Y[k]);
        if (pen && curve.held) c.lineTo(x, before);
        pen ? c.lineTo(x, y) : c.moveTo(x, y);
        pen = true; before = y;
      }
      c.stroke();
    });
    c.globalAlpha = 1; c.setLineDash([]); c.strokeStyle = palette.ink; c.lineWidth = 1;
    for (const t of panel.impacts || []) { c.beginPath(); c.moveTo(px(t), height - bottom); c.lineTo(px(t), height - bottom - 6); c.stroke(); }
    c.restore();
    this.cursor(this.now ?? this.x.low);
  }
  index(time, T) {
    let a = 0, b = T.length - 1;
    while (b - a > 1) { const m = (a + b) >> 1; T[m] <= time ? (a = m) : (b = m); }
    return T[b] <= time ? b : a;
  }
  /* Moves the time marks, which lie above the curves, so that nothing is redrawn. `quiet`: the values at the cursor are updated later. */
  cursor(time, quiet) {
    this.now = time;
    if (!this.marks || !this.seen || !this.places) return;
    const [px, py] = this.places, { panel } = this;
    if (!panel.portrait) this.marks[0].style.transform = `translateX(${px(time)}px)`;
    if (quiet && !panel.portrait) return;
    panel.curves.forEach((curve, n) => {
      const k = this.index(time, curve.t.data), y = curve.y.data[k];
      if (panel.portrait) this.marks[n].style.transform = `translate(${px(curve.x.data[k])}px, ${py(y)}px)`;
      if (quiet || !this.readings[n]) return;
      const text = appell.reading(y);
      if (this.readings[n].textContent !== text) this.readings[n].textContent = text;
    });
  }
};
