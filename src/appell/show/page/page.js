/* A page: its film, its plots, and buttons that copy LaTeX. */
"use strict";

appell.start = async function () {
  const node = document.getElementById("film"), data = await appell.read("data");
  if (node && data.film) appell.player = new appell.Player(node, data.film);
  appell.plots = (data.panels || []).map((panel, k) => {
    const plot = new appell.Plot(document.getElementById(`panel-${k}`), panel, (time) => (appell.player ? appell.player.seek(time) : appell.move(time)));
    plot.draw();
    return plot;
  });
  appell.move = (time, quiet) => appell.plots.forEach((plot) => plot.cursor(time, quiet));
  if (appell.player) appell.player.onTime(appell.move);
  appell.ready = true;
  document.documentElement.dataset.ready = "yes";
  if (location.hash === "#play" && appell.player) appell.player.play();
};

appell.copying();
appell.start().catch((error) => {
  const note = document.createElement("p");
  note.className = "failure";
  note.textContent = `The animation cannot be shown: ${error.message}`;
  (document.getElementById("film") || document.body).append(note);
});
