/* A button on every cell that copies its code. */
document.addEventListener("DOMContentLoaded", () => {
  for (const cell of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.onclick = async () => {
      await navigator.clipboard.writeText(cell.querySelector("pre").innerText.replace(/\n$/, ""));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    };
    cell.append(button);
  }
});
