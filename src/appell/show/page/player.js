/* A film with its controls: play, pause, time, speed, trail, camera; by mouse, touch and keyboard. */
"use strict";

appell.SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50];

appell.Player = class {
  constructor(root, film) {
    this.root = root;
    this.listeners = [];
    this.playing = false;
    this.trail = true;
    this.drawn = this.said = 0;
    this.build();
    this.load(film);
    new ResizeObserver(() => this.resize()).observe(this.stage);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (this.dirty = true));
    requestAnimationFrame((now) => this.loop(now));
  }
  make(tag, attributes, text, parent) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    if (text) element.textContent = text;
    (parent || this.bar).append(element);
    return element;
  }
  build() {
    this.stage = this.make("div", { class: "stage" }, "", this.root);
    this.bar = this.make("div", { class: "controls", role: "group", "aria-label": "Animation" }, "", this.root);
    this.button = this.make("button", { type: "button", class: "play" }, "Play");
    this.slider = this.make("input", { type: "range", step: "any", "aria-label": "Time", class: "time" });
    this.clock = this.make("output", { class: "clock" });
    const speed = this.make("label", {}, "Speed ");
    this.speeds = this.make("select", { "aria-label": "Speed" }, "", speed);
    for (const x of appell.SPEEDS) this.make("option", { value: x }, `${x}×`, this.speeds);
    const trail = this.make("label", { class: "trail" });
    this.trails = this.make("input", { type: "checkbox" }, "", trail);
    this.trails.checked = true;
    trail.append(" Trail");
    this.cameras = this.make("label", {}, "Camera ");
    this.views = this.make("select", { "aria-label": "Camera" }, "", this.cameras);
    for (const name of ["default", "front", "side", "top"]) this.make("option", { value: name }, name, this.views);
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
    this.slider.oninput = () => this.seek(+this.slider.value);
    this.speeds.onchange = () => (this.speed = +this.speeds.value);
    this.trails.onchange = () => { this.trail = this.trails.checked; this.dirty = true; };
    this.views.onchange = () => { this.camera.look(this.views.value); this.dirty = true; };
  }
  /* Shows another film; time and camera are kept if they fit. */
  load(film) {
    const before = this.film, time = this.time;
    this.film = new appell.Film(film);
    const same = before && before.flat === this.film.flat && before.name === this.film.name;
    if (same) {
      this.camera.film = this.film;
      this.painter.change(this.film);
    } else {
      this.painter?.dispose();
      this.canvas?.remove();
      this.canvas = this.make("canvas", { tabindex: "0", role: "img", "aria-label": `Animation of ${this.film.name}` }, "", this.stage);
      this.camera = new appell.Camera(this.film);
      this.painter = this.choose();
      this.listen();
    }
    this.cameras.hidden = this.film.flat;
    this.slider.min = this.film.begin;
    this.slider.max = this.film.end;
    if (!before) {
      const length = this.film.end - this.film.begin, wanted = Math.min(length / 4, Math.max(length / 20, 1));
      this.speed = appell.SPEEDS.reduce((a, b) => (Math.abs(Math.log(b / (wanted || 1))) < Math.abs(Math.log(a / (wanted || 1))) ? b : a));
      this.speeds.value = this.speed;
    }
    this.button.disabled = this.slider.disabled = this.film.count < 2;
    this.resize();
    this.seek(same ? Math.min(time, this.film.end) : this.film.begin);
  }
  choose() {
    if (!this.film.flat && appell.THREE && !appell.withoutWebGL) {
      try { return new appell.SpacePainter(this.canvas, this.film); } catch (error) {
        const fresh = this.canvas.cloneNode();  // a canvas that was asked for WebGL has no other context
        this.canvas.replaceWith(fresh);
        this.canvas = fresh;
      }
    }
    return new appell.CanvasPainter(this.canvas, this.film);
  }
  listen() {
    const canvas = this.canvas, fingers = new Map();
    canvas.onpointerdown = (e) => { fingers.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); };
    canvas.onpointerup = canvas.onpointercancel = (e) => fingers.delete(e.pointerId);
    canvas.onpointermove = (e) => {
      const was = fingers.get(e.pointerId);
      if (!was) return;
      const dx = e.clientX - was[0], dy = e.clientY - was[1];
      fingers.set(e.pointerId, [e.clientX, e.clientY]);
      if (this.film.flat || e.shiftKey || e.buttons === 2 || fingers.size > 1) this.camera.pan(dx, dy, canvas.clientHeight);
      else this.camera.orbit(dx * 0.008, dy * 0.008);
      this.dirty = true;
    };
    canvas.oncontextmenu = (e) => e.preventDefault();
    canvas.ondblclick = () => { this.camera.reset(); this.views.value = "default"; this.dirty = true; };
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && document.activeElement !== canvas) return;  // do not take over the scrolling of the page
      e.preventDefault();
      this.camera.approach(Math.exp(e.deltaY * 0.001));
      this.dirty = true;
    }, { passive: false });
    canvas.onkeydown = (e) => this.key(e);
  }
  key(e) {
    const frame = (this.film.end - this.film.begin) / Math.max(this.film.count - 1, 1), turn = 0.1;
    const orbit = (x, y) => { this.camera.orbit(x, y); this.dirty = true; };
    const keys = {
      " ": () => (this.playing ? this.pause() : this.play()),
      ArrowRight: () => (e.shiftKey ? orbit(turn, 0) : this.seek(this.time + frame)),
      ArrowLeft: () => (e.shiftKey ? orbit(-turn, 0) : this.seek(this.time - frame)),
      ArrowUp: () => e.shiftKey && orbit(0, turn),
      ArrowDown: () => e.shiftKey && orbit(0, -turn),
      Home: () => this.seek(this.film.begin),
      End: () => this.seek(this.film.end),
      "+": () => { this.camera.approach(0.9); this.dirty = true; },
      "-": () => { this.camera.approach(1 / 0.9); this.dirty = true; },
    };
    if (!keys[e.key] || keys[e.key]() === false) return;
    e.preventDefault();
  }
  resize() {
    const width = this.stage.clientWidth || 640, height = Math.max(220, Math.round(Math.min(width * 0.62, 520)));
    this.canvas.style.height = `${height}px`;
    this.painter.resize(width, height);
    Object.assign(this, { width, height, dirty: true });
  }
  play() {
    if (this.film.count < 2) return;
    if (this.time >= this.film.end) this.time = this.film.begin;
    this.playing = true;
    this.last = null;
    this.label();
  }
  pause() { this.playing = false; this.dirty = true; this.label(); }
  label() { this.button.textContent = this.playing ? "Pause" : "Play"; this.button.setAttribute("aria-pressed", this.playing); }
  seek(time) { this.time = Math.max(this.film.begin, Math.min(this.film.end, time)); this.dirty = true; }
  onTime(listener) { this.listeners.push(listener); this.dirty = true; }
  say(now) {
    const text = `${this.time.toFixed(2)} s`;
    this.said = now;
    this.slider.value = this.time;
    this.clock.textContent = `t = ${text}`;
    this.slider.setAttribute("aria-valuetext", text);
  }
  loop(now) {
    if (this.playing) {
      if (this.last !== null) this.time += ((now - this.last) / 1000) * this.speed;
      this.last = now;
      if (this.time > this.film.end) this.time = this.film.begin + ((this.time - this.film.begin) % (this.film.end - this.film.begin));
      this.dirty = true;
    }
    if (this.dirty) {
      this.dirty = false;
      this.painter.paint(this.time, this.camera, this.trail);
      this.drawn++;
      const quiet = this.playing && now - this.said < 80;  // while playing, numbers change no faster than one can read them
      for (const listener of this.listeners) listener(this.time, quiet);
      if (!quiet) this.say(now);
    }
    requestAnimationFrame((later) => this.loop(later));
  }
};
