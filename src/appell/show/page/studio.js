/* Receives films and curves from the studio, for the same player and plots. */
"use strict";

/* Shows a film, and curves in the named element, which may not exist yet. */
appell.show = async function (page, curves) {
  const turn = (appell.turns = (appell.turns || 0) + 1);
  const data = appell.arrays(page.description, await appell.unpack(page.numbers));
  while (turn === appell.turns && curves && !document.getElementById(curves)) await new Promise((done) => setTimeout(done, 5));
  if (turn < appell.turns) return;  // a newer one is coming
  const node = document.getElementById("film");
  if (appell.player && appell.player.root === node) appell.player.load(data.film);
  else appell.player = new appell.Player(node, data.film);
  const seek = (time) => appell.player.seek(time);
  for (const plot of appell.plots || []) plot.dispose();
  appell.plots = data.panels.map((panel, k) => {
    const root = document.getElementById(`panel-${k}`);
    root.querySelector(".plot").replaceChildren();
    const plot = new appell.Plot(root, panel, seek);
    plot.draw();
    return plot;
  });
  appell.player.listeners = [(time, quiet) => appell.plots.forEach((plot) => plot.cursor(time, quiet))];
  appell.player.dirty = true;
  appell.shown = turn;
};

/* Moves the shapes that are shown to new poses. */
appell.pose = async function (page) {
  const turn = (appell.turns = (appell.turns || 0) + 1);
  const { shapes } = appell.arrays(page.description, await appell.unpack(page.numbers)), film = appell.player?.film;
  if (turn < appell.turns || !film) return;
  film.shapes.forEach((shape, k) => { for (const key of ["p", "q", "v", "stretch"]) if (key in shape) shape[key] = shapes[k][key]; });
  appell.player.dirty = true;
  appell.shown = turn;
};
