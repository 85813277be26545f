/* Draws on a plain canvas: flat films as a textbook draws them, solids from back to front. */
"use strict";

appell.CanvasPainter = class {
  constructor(canvas, film) { this.canvas = canvas; this.film = film; this.context = canvas.getContext("2d"); }
  change(film) { this.film = film; }
  dispose() {}
  resize(width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }
  paint(time, camera, trail) {
    const c = this.context, [i, a] = this.film.place(time), palette = appell.palette();
    const see = camera.projection(this.width, this.height), strokes = [];
    const css = (colour) => palette[colour] || colour;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = palette.paper;
    c.fillRect(0, 0, this.width, this.height);
    c.lineCap = c.lineJoin = "round";
    const eye = camera.eye();
    const add = (depth, points, look) => strokes.push({ depth, points, ...look });
    for (const s of this.film.shapes) this[s.kind](s, i, a, see, add, { css, palette, trail, eye });
    if (!this.film.flat) strokes.sort((p, q) => q.depth - p.depth);
    for (const s of strokes) this.stroke(s);
  }
  stroke({ points, edge, width, fill, closed, dashed, alpha, text }) {
    const c = this.context;
    c.globalAlpha = alpha ?? 1;
    if (text !== undefined) {
      c.fillStyle = fill;
      c.font = "15px 'STIX Two Text', 'Latin Modern Roman', Georgia, serif";
      c.fillText(text, points[0][0] + 6, points[0][1] + 4);
      return;
    }
    c.beginPath();
    for (let k = 0; k < points.length; k++) k ? c.lineTo(points[k][0], points[k][1]) : c.moveTo(points[k][0], points[k][1]);
    if (closed) c.closePath();
    if (fill) { c.fillStyle = fill; c.fill(); }
    if (edge) { c.strokeStyle = edge; c.lineWidth = width ?? 1; c.setLineDash(dashed ? [5, 4] : []); c.stroke(); }
  }
  points(flat, see) {
    const out = [];
    for (let k = 0; k + 2 < flat.length; k += 3) out.push(see(flat[k], flat[k + 1], flat[k + 2]));
    return out;
  }
  depth(points) { return points.reduce((sum, p) => sum + p[2], 0) / points.length; }

  line(s, i, a, see, add, { css }) {
    const points = this.points(appell.row(s.p, i, a), see), depth = this.depth(points), edge = css(s.colour);
    if (s.cased) {
      add(depth, points, { edge: css("ink"), width: s.width });
      add(depth, points, { edge, width: Math.max(s.width - 2.4, 1) });
    } else add(depth, points, { edge, width: s.width, dashed: s.dashed, fill: s.fill && css(s.fill), closed: !!s.fill });
  }
  dot(s, i, a, see, add, { css, palette }) {
    const [x, y, depth] = see(...appell.row(s.p, i, a)), ring = [];
    for (let k = 0; k < 24; k++) ring.push([x + s.radius * Math.cos(k * Math.PI / 12), y + s.radius * Math.sin(k * Math.PI / 12)]);
    add(depth - 1e-3, ring, { edge: css(s.open ? "ink" : s.colour), width: 1.5, fill: s.open ? palette.paper : css(s.colour), closed: true });
  }
  arrow(s, i, a, see, add, { css }) {
    const p = appell.row(s.p, i, a), v = appell.row(s.v, i, a);
    const from = see(...p), to = see(p[0] + v[0], p[1] + v[1], p[2] + v[2]);
    const dx = to[0] - from[0], dy = to[1] - from[1], length = Math.hypot(dx, dy);
    if (length < 2) return;
    const head = Math.min(11, 0.6 * length), ex = dx / length, ey = dy / length, nx = to[0] - head * ex, ny = to[1] - head * ey;
    const depth = Math.min(from[2], to[2]), colour = css(s.colour), h = 0.4 * head;
    add(depth, [from, [nx, ny]], { edge: colour, width: 2.2 });
    add(depth, [to, [nx - h * ey, ny + h * ex], [nx + h * ey, ny - h * ex]], { fill: colour, closed: true });
  }
  track(s, i, a, see, add, { css, trail }) {
    if (!trail) return;
    const points = this.points(s.p.data.subarray(0, 3 * (i + 1)), see);
    points.push(see(...appell.row(s.p, i, a)));
    const look = { edge: css(s.colour), width: 1.3, alpha: 0.8 }, piece = this.film.flat ? points.length : 12;
    for (let k = 0; k < points.length - 1; k += piece) {
      const part = points.slice(k, k + piece + 1);
      add(this.depth(part), part, look);
    }
  }
  words(s, i, a, see, add, { css }) { add(-1, [see(...appell.row(s.p, i, a))], { text: s.text, fill: css(s.colour) }); }
  solid(s, i, a, see, add, { css, palette, eye }) {
    const mesh = this.film.meshes[s.mesh], p = appell.row(s.p, i, a), R = appell.turn(s.q, i, a), l = appell.row(s.stretch, i, a)[0];
    const world = (x, y, z) => [p[0] + R[0] * x + R[1] * y + R[2] * z * l, p[1] + R[3] * x + R[4] * y + R[5] * z * l,
                                p[2] + R[6] * x + R[7] * y + R[8] * z * l];
    const move = (flat) => { const out = []; for (let k = 0; k + 2 < flat.length; k += 3) out.push(world(flat[k], flat[k + 1], flat[k + 2])); return out; };
    const base = appell.rgb(s.colour, palette), shade = (f) => `rgb(${base.map((x) => Math.round(Math.max(0, Math.min(255, x * f)))).join()})`;
    if (this.film.flat && mesh.outlines.length) {
      for (const outline of mesh.outlines) add(0, move(outline.data).map((x) => see(...x)), { edge: css("ink"), width: 1.2, fill: css(s.colour), closed: true });
      for (const mark of mesh.marks) add(0, move(mark.data).map((x) => see(...x)), { edge: css("ink"), width: 1.2 });
      return;
    }
    const at = move(mesh.vertices.data), seen = at.map((x) => see(...x)), T = mesh.triangles.data, light = [0.348, -0.497, 0.795];
    for (let k = 0; k < T.length; k += 3) {
      const A = at[T[k]], B = at[T[k + 1]], C = at[T[k + 2]];
      const u = B.map((x, m) => x - A[m]), v = C.map((x, m) => x - A[m]);
      const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], size = Math.hypot(...n) || 1;
      const front = this.film.flat ? n[2] : n[0] * (eye[0] - A[0]) + n[1] * (eye[1] - A[1]) + n[2] * (eye[2] - A[2]);
      if (front <= 0 && s.opacity === 1) continue;
      const lit = ((n[0] * light[0] + n[1] * light[1] + n[2] * light[2]) / size) * Math.sign(front);
      const points = [seen[T[k]], seen[T[k + 1]], seen[T[k + 2]]], colour = shade(0.62 + (lit > 0 ? 0.38 : 0.15) * lit);
      add(this.depth(points), points, { fill: colour, edge: s.opacity === 1 ? colour : undefined, width: 0.6, closed: true, alpha: s.opacity });
    }
    const E = mesh.edges.data, bias = 0.004 * Math.max(...this.film.high.map((x, m) => x - this.film.low[m]));
    for (let k = 0; k < E.length; k += 2) {
      const points = [seen[E[k]], seen[E[k + 1]]];
      add(this.depth(points) - bias, points, { edge: shade(0.45), width: 0.9, alpha: Math.min(1, s.opacity + 0.25) });
    }
  }
};
