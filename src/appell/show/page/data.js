/* Numbers of a page. Python writes float32 arrays as differences along their first axis, the bytes of equal weight together,
   deflated, in base64; here they come back, bit for bit. */
"use strict";
const appell = {};
window.appell = appell;

appell.unpack = async function (text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = bytes.length / 4, whole = new Uint8Array(bytes.length);
  for (let b = 0; b < 4; b++) for (let i = 0; i < count; i++) whole[4 * i + b] = bytes[b * count + i];
  return new Uint32Array(whole.buffer);
};

/* Every {"at": offset, "shape": […]} inside a description becomes {shape, data: Float32Array}. */
appell.arrays = function (node, words) {
  if (Array.isArray(node)) return node.map((one) => appell.arrays(one, words));
  if (node === null || typeof node !== "object") return node;
  if ("at" in node && "shape" in node) {
    const size = node.shape.reduce((a, b) => a * b, 1), stride = node.shape[0] ? size / node.shape[0] : 1;
    const out = words.slice(node.at, node.at + size);
    for (let i = stride; i < size; i++) out[i] = (out[i] + out[i - stride]) >>> 0;
    return { shape: node.shape, data: new Float32Array(out.buffer) };
  }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, appell.arrays(value, words)]));
};

appell.read = async function (id) {
  const page = JSON.parse(document.getElementById(id).textContent);
  return appell.arrays(page.description, await appell.unpack(page.numbers));
};

appell.copying = function () {
  for (const button of document.querySelectorAll("button.copy")) {
    button.onclick = async () => {
      const text = document.getElementById(button.dataset.of).textContent;
      try { await navigator.clipboard.writeText(text); } catch {
        const area = document.createElement("textarea");
        area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
      }
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy LaTeX"), 1500);
    };
  }
};
