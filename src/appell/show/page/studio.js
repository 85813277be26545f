/* What the studio sends: another film and other curves into the same player and plots. */
"use strict";

appell.show = async function (page) {
  const turn = (appell.turns = (appell.turns || 0) + 1);
  const data = appell.arrays(page.description, await appell.unpack(page.numbers));
  if (turn < appell.turns) return;  // a newer one is on its way
  const node = document.getElementById("film");
  if (appell.player && appell.player.root === node) appell.player.load(data.film);
  else appell.player = new appell.Player(node, data.film);
  const seek = (time) => appell.player.seek(time);
  appell.plots = data.panels.map((panel, k) => {
    const root = document.getElementById(`panel-${k}`);
    root.querySelector(".plot").replaceChildren();
    const plot = new appell.Plot(root, panel, seek);
    plot.draw();
    return plot;
  });
  appell.player.listeners = [(time) => appell.plots.forEach((plot) => plot.cursor(time))];
  appell.player.dirty = true;
  appell.shown = turn;
};

/* Poses of a robot: the film of one frame, drawn at once. */
appell.pose = async function (page) { await appell.show(page); appell.player.seek(0); };
