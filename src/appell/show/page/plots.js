/* Curves with one cursor: a click or a drag on any of them moves the time of all, and of the animation. */
"use strict";

appell.nice = function (low, high, wanted) {
  const raw = (high - low) / wanted || 1, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((x) => x * power >= raw) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return ticks;
};

appell.figure = (x) => {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(0) : String(+x.toPrecision(6));
  return text.replace("-", "−").replace("e+", "e");
};

appell.Plot = class {
  constructor(root, panel, seek) {
    Object.assign(this, { root, panel, seek, now: null });
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", panel.label);
    root.querySelector(".plot").append(this.canvas);
    this.readings = root.querySelectorAll(".reading");
    this.range();
    new ResizeObserver(() => this.draw()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    if (!panel.portrait) {
      const go = (e) => { const r = this.canvas.getBoundingClientRect(); this.seek(this.x.low + ((e.clientX - r.left - this.left) / (r.width - this.left - 8)) * (this.x.high - this.x.low)); };
      this.canvas.onpointerdown = (e) => { this.canvas.setPointerCapture(e.pointerId); go(e); };
      this.canvas.onpointermove = (e) => e.buttons && go(e);
    }
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
  place(width, height) {
    const left = (this.left = 58), bottom = 26, top = 8, { x, y, panel } = this;
    return [(v) => left + ((v - x.low) / (x.high - x.low)) * (width - left - 8),
            (v) => height - bottom - ((((panel.log ? Math.log10(v) : v) - y.low) / (y.high - y.low)) * (height - bottom - top)), left, bottom, top];
  }
  draw() {
    const width = this.canvas.parentElement.clientWidth, height = this.panel.portrait ? 230 : this.panel.log ? 120 : 170;
    if (!width) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2), page = (this.page = document.createElement("canvas")), c = page.getContext("2d");
    for (const one of [page, this.canvas]) { one.width = width * ratio; one.height = height * ratio; }
    this.canvas.style.height = `${height}px`;
    Object.assign(this, { width, height, ratio });
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const palette = appell.palette(this.canvas), [px, py, left, bottom, top] = this.place(width, height), { panel } = this;
    c.font = "12px system-ui, sans-serif";
    c.fillStyle = palette.grey;
    for (const [a, b] of panel.contacts || []) { c.globalAlpha = 0.14; c.fillRect(px(a), top, Math.max(px(b) - px(a), 1), height - top - bottom); c.globalAlpha = 1; }
    const ticks = panel.log ? appell.nice(this.y.low, this.y.high, 3).filter(Number.isInteger).map((k) => 10 ** k) : appell.nice(this.y.low, this.y.high, 4);
    c.strokeStyle = palette.grey;
    c.textAlign = "right"; c.textBaseline = "middle";
    for (const v of ticks) {
      c.globalAlpha = 0.25; c.beginPath(); c.moveTo(left, py(v)); c.lineTo(width - 8, py(v)); c.stroke(); c.globalAlpha = 1;
      c.fillText(appell.figure(v), left - 6, py(v));
    }
    c.textAlign = "center"; c.textBaseline = "top";
    for (const v of appell.nice(this.x.low, this.x.high, Math.max(3, Math.min(8, width / 90)))) {
      c.globalAlpha = 0.25; c.beginPath(); c.moveTo(px(v), top); c.lineTo(px(v), height - bottom); c.stroke(); c.globalAlpha = 1;
      c.fillText(appell.figure(v), px(v), height - bottom + 5);
    }
    if (this.y.empty) { c.fillText("zero at every sample", width / 2, height / 2 - 12); }
    c.save(); c.beginPath(); c.rect(left, top - 2, width - left - 8, height - bottom - top + 4); c.clip();
    for (const curve of panel.curves) {
      const X = curve.x.data, Y = curve.y.data;
      c.strokeStyle = palette[curve.colour] || curve.colour; c.lineWidth = 1.5; c.setLineDash(curve.dashed ? [5, 4] : []);
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
    }
    c.setLineDash([]); c.strokeStyle = palette.ink; c.lineWidth = 1;
    for (const t of panel.impacts || []) { c.beginPath(); c.moveTo(px(t), height - bottom); c.lineTo(px(t), height - bottom - 6); c.stroke(); }
    c.restore();
    this.cursor(this.now ?? this.x.low);
  }
  index(time, T) {
    let a = 0, b = T.length - 1;
    while (b - a > 1) { const m = (a + b) >> 1; T[m] <= time ? (a = m) : (b = m); }
    return T[b] <= time ? b : a;
  }
  cursor(time) {
    this.now = time;
    if (!this.page) return;
    const c = this.canvas.getContext("2d"), palette = appell.palette(this.canvas), [px, py, , bottom, top] = this.place(this.width, this.height);
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    c.drawImage(this.page, 0, 0);
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.panel.curves.forEach((curve, n) => {
      const k = this.index(time, curve.t.data), y = curve.y.data[k];
      if (this.readings[n]) this.readings[n].textContent = Number.isFinite(y) ? y.toPrecision(4).replace("-", "−") : "–";
      if (!this.panel.portrait) return;
      c.fillStyle = palette[curve.colour] || curve.colour;
      c.beginPath(); c.arc(px(curve.x.data[k]), py(y), 4.5, 0, 7); c.fill();
    });
    if (this.panel.portrait) return;
    c.strokeStyle = palette.accent || "#d1495b"; c.lineWidth = 1.4;
    c.beginPath(); c.moveTo(px(time), top); c.lineTo(px(time), this.height - bottom); c.stroke();
  }
};
