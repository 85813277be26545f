/* Draws with WebGL, by three.js, which a page includes if its film is in space. */
"use strict";

appell.SpacePainter = class {
  constructor(canvas, film) {
    this.T = appell.THREE;
    this.canvas = canvas;
    this.renderer = new this.T.WebGLRenderer({ canvas, antialias: true });
    this.change(film);
  }
  /* Another film on the same canvas. */
  change(film) {
    const T = this.T;
    this.clear(this.before);
    this.before = this.scene;  // kept until the next scene has been drawn, so that its shaders can be reused
    this.film = film;
    this.scene = new T.Scene();
    this.eye = new T.PerspectiveCamera((film.camera.angle * 180) / Math.PI, 1, film.camera.distance / 500, film.camera.distance * 50);
    this.eye.up.set(0, 0, 1);
    this.scene.add(new T.HemisphereLight(0xffffff, 0x8d949e, 2.2));
    const sun = new T.DirectionalLight(0xffffff, 1.6);
    sun.position.set(0.35, -0.5, 0.8);
    this.scene.add(sun);
    this.tinted = [];
    this.palette = null;
    this.size = Math.max(...film.high.map((x, k) => x - film.low[k])) || 1;
    this.geometries = film.meshes.map((mesh) => this.geometry(mesh));
    this.moving = film.shapes.map((s) => this[s.kind](s)).filter(Boolean);
  }
  clear(scene) { scene?.traverse((o) => { o.geometry?.dispose(); o.material?.map?.dispose(); o.material?.dispose(); }); }
  dispose() { this.clear(this.before); this.clear(this.scene); this.renderer.dispose(); }
  resize(width, height) {
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.setSize(width, height, false);
    this.eye.aspect = width / height;
    this.eye.updateProjectionMatrix();
  }
  paint(time, camera, trail) {
    const [i, a] = this.film.place(time), palette = appell.palette();
    if (this.palette !== palette) {
      this.palette = palette;
      this.scene.background = new this.T.Color(palette.paper);
      for (const [material, colour] of this.tinted) material.color.set(palette[colour] || colour);
    }
    for (const move of this.moving) move(i, a, trail);
    this.eye.position.set(...camera.eye());
    this.eye.lookAt(...camera.target);
    this.renderer.render(this.scene, this.eye);
    if (this.before) this.before = void this.clear(this.before);
  }
  material(made, colour) { this.tinted.push([made, colour]); return made; }
  geometry(mesh) {
    const T = this.T, g = new T.BufferGeometry();
    g.setAttribute("position", new T.BufferAttribute(mesh.vertices.data, 3));
    g.setIndex(new T.BufferAttribute(Uint32Array.from(mesh.triangles.data), 1));
    const faces = mesh.smooth ? g : g.toNonIndexed();
    faces.computeVertexNormals();
    const edges = mesh.edges.data.length ? new T.BufferGeometry() : null;
    if (edges) {
      edges.setAttribute("position", new T.BufferAttribute(mesh.vertices.data, 3));
      edges.setIndex(new T.BufferAttribute(Uint32Array.from(mesh.edges.data), 1));
    }
    return { faces, edges };
  }
  solid(s) {
    const T = this.T, { faces, edges } = this.geometries[s.mesh], group = new T.Group(), clear = s.opacity < 1;
    const side = this.film.meshes[s.mesh].closed && !clear ? T.FrontSide : T.DoubleSide;
    const look = new T.MeshLambertMaterial({ transparent: clear, opacity: s.opacity, side, depthWrite: !clear });
    look.polygonOffset = true; look.polygonOffsetFactor = look.polygonOffsetUnits = 1;
    group.add(new T.Mesh(faces, this.material(look, s.colour)));
    if (edges) {
      const line = new T.LineBasicMaterial({ transparent: clear, opacity: clear ? 0.4 : 1 });
      group.add(new T.LineSegments(edges, this.material(line, clear ? s.colour : "ink")));
    }
    this.scene.add(group);
    return (i, a) => {
      group.position.fromArray(appell.row(s.p, i, a));
      group.quaternion.fromArray(appell.row(s.q, i, a)).normalize();
      group.scale.z = appell.row(s.stretch, i, a)[0] || 1e-9;
    };
  }
  line(s) {
    const T = this.T, n = s.p.shape[1], positions = new T.BufferAttribute(new Float32Array(3 * n), 3), g = new T.BufferGeometry();
    g.setAttribute("position", positions);
    const line = new T.Line(g, this.material(new T.LineBasicMaterial(), s.colour));
    line.frustumCulled = false;
    this.scene.add(line);
    return (i, a) => { positions.array.set(appell.row(s.p, i, a)); positions.needsUpdate = true; };
  }
  track(s) {
    const T = this.T, look = this.material(new T.LineBasicMaterial(), s.colour), whole = new T.BufferGeometry(), last = new T.BufferGeometry();
    const end = new T.BufferAttribute(new Float32Array(6), 3);
    whole.setAttribute("position", new T.BufferAttribute(s.p.data, 3));
    last.setAttribute("position", end);
    const lines = [new T.Line(whole, look), new T.Line(last, look)];
    for (const line of lines) { line.frustumCulled = false; this.scene.add(line); }
    return (i, a, trail) => {
      lines[0].visible = lines[1].visible = trail;
      whole.setDrawRange(0, i + 1);
      end.array.set(s.p.data.subarray(3 * i, 3 * i + 3));
      end.array.set(appell.row(s.p, i, a), 3);
      end.needsUpdate = true;
    };
  }
  dot(s) {
    const T = this.T, ball = new T.Mesh(new T.SphereGeometry(0.012 * this.size, 16, 10), this.material(new T.MeshLambertMaterial(), s.colour));
    this.scene.add(ball);
    return (i, a) => { ball.position.fromArray(appell.row(s.p, i, a)); };
  }
  arrow(s) {
    const T = this.T, r = 0.006 * this.size, group = new T.Group(), look = this.material(new T.MeshLambertMaterial(), s.colour);
    const shaft = new T.Mesh(new T.CylinderGeometry(r, r, 1, 12).translate(0, 0.5, 0), look);
    const head = new T.Mesh(new T.ConeGeometry(2.6 * r, 7 * r, 16).translate(0, -3.5 * r, 0), look);
    group.add(shaft, head);
    this.scene.add(group);
    const up = new T.Vector3(0, 1, 0), v = new T.Vector3();
    return (i, a) => {
      v.fromArray(appell.row(s.v, i, a));
      const length = v.length();
      group.visible = length > 2 * r;
      group.position.fromArray(appell.row(s.p, i, a));
      group.quaternion.setFromUnitVectors(up, v.normalize());
      shaft.scale.y = Math.max(length - 5 * r, 1e-9);
      head.position.y = length;
    };
  }
  words(s) {
    const T = this.T, page = document.createElement("canvas"), c = page.getContext("2d");
    page.width = 512; page.height = 64;
    c.font = "40px serif"; c.fillStyle = "#888888"; c.fillText(s.text, 4, 46);
    const sprite = new T.Sprite(new T.SpriteMaterial({ map: new T.CanvasTexture(page), depthTest: false }));
    sprite.scale.set(0.4 * this.size, 0.05 * this.size, 1);
    sprite.center.set(0, 0.5);
    this.scene.add(sprite);
    return (i, a) => { sprite.position.fromArray(appell.row(s.p, i, a)); };
  }
};
