/* A film between its frames: the pose of every shape at any time, and the camera that looks at it. */
"use strict";

/* An array over frames at i + a: linear between frames i and i + 1. Arrays with one frame are constant. */
appell.row = function (array, i, a) {
  const n = array.data.length / array.shape[0], at = Math.min(i, array.shape[0] - 1) * n;
  const here = array.data.subarray(at, at + n);
  if (!a || array.shape[0] < 2 || i + 1 >= array.shape[0]) return here;
  const next = array.data.subarray(at + n, at + 2 * n), out = new Float32Array(n);
  for (let k = 0; k < n; k++) out[k] = here[k] + a * (next[k] - here[k]);
  return out;
};

/* Rotation matrix (9, by rows) of a unit quaternion (x, y, z, w) between two frames. */
appell.turn = function (array, i, a) {
  let [x, y, z, w] = appell.row(array, i, a);
  const n = Math.hypot(x, y, z, w) || 1;
  x /= n; y /= n; z /= n; w /= n;
  return [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
          2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
          2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)];
};

appell.Film = class {
  constructor(description) {
    Object.assign(this, description);
    this.count = this.t.shape[0];
    this.begin = this.t.data[0];
    this.end = this.t.data[this.count - 1];
  }
  /* The frame at a time, and the fraction of the way to the next one. */
  place(time) {
    const u = this.count < 2 ? 0 : ((time - this.begin) / (this.end - this.begin)) * (this.count - 1);
    const i = Math.max(0, Math.min(this.count - 1, Math.floor(u + 1e-9)));
    return [i, Math.max(0, Math.min(1, u - i))];
  }
};

/* The camera of appell.show.camera: z is up. A flat film is seen from the front; `zoom` and `shift` are in pixels. */
appell.Camera = class {
  constructor(film) { this.film = film; this.reset(); }
  reset() {
    const c = this.film.camera;
    Object.assign(this, { target: [...c.target], distance: c.distance, azimuth: c.azimuth, elevation: c.elevation, angle: c.angle,
                          zoom: 1, shift: [0, 0] });
  }
  look(name) {
    this.reset();
    const quarter = Math.PI / 2, views = { front: [-quarter, 0], side: [0, 0], top: [-quarter, quarter - 1e-3] };
    if (views[name]) [this.azimuth, this.elevation] = views[name];
  }
  axes() {
    const a = this.azimuth, e = this.elevation, back = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
    const right = [-Math.sin(a), Math.cos(a), 0];
    return [right, [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2],
                    back[0] * right[1] - back[1] * right[0]], back];
  }
  eye() { const b = this.axes()[2]; return this.target.map((x, k) => x + this.distance * b[k]); }
  orbit(dx, dy) {
    this.azimuth -= dx;
    this.elevation = Math.max(-1.55, Math.min(1.55, this.elevation + dy));
  }
  approach(factor) { this.distance *= factor; this.zoom /= factor; }
  pan(dx, dy, height) {
    this.shift[0] += dx; this.shift[1] += dy;
    const [right, up] = this.axes(), metre = (2 * Math.tan(this.angle / 2) * this.distance) / height;
    for (let k = 0; k < 3; k++) this.target[k] -= metre * (dx * right[k] - dy * up[k]);
  }
  /* A function from a point in space to [x, y, depth] in CSS pixels. */
  projection(width, height) {
    if (this.film.flat) {
      const { low, high } = this.film, m = 0.84, tiny = 1e-9;
      const scale = this.zoom * Math.min((m * width) / Math.max(high[0] - low[0], tiny), (m * height) / Math.max(high[1] - low[1], tiny));
      const cx = (low[0] + high[0]) / 2, cy = (low[1] + high[1]) / 2, [sx, sy] = this.shift;
      return (x, y) => [width / 2 + sx + scale * (x - cx), height / 2 + sy - scale * (y - cy), 0];
    }
    const [r, u, b] = this.axes(), t = this.target, f = height / (2 * Math.tan(this.angle / 2)), d = this.distance;
    return (x, y, z) => {
      x -= t[0]; y -= t[1]; z -= t[2];
      const depth = Math.max(d - (b[0] * x + b[1] * y + b[2] * z), 1e-6 * d), s = f / depth;
      return [width / 2 + s * (r[0] * x + r[1] * y + r[2] * z), height / 2 - s * (u[0] * x + u[1] * y + u[2] * z), depth];
    };
  }
};

/* The colours of the page, read when it turns dark or light: reading styles in every frame would be slow. */
appell.palette = function () {
  if (!appell.colours) {
    const style = getComputedStyle(document.documentElement), read = (name, other) => style.getPropertyValue(name).trim() || other;
    appell.colours = { ink: read("--ink", "#1d2430"), grey: read("--grey", "#8a8f98"), paper: read("--paper", "#ffffff") };
  }
  return appell.colours;
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (appell.colours = null));

appell.rgb = function (colour, palette) {
  const hex = palette[colour] || colour;
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
};
