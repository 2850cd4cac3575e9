// What scrolls by itself must be reachable from the keyboard; what is printed must be dark on white.
(function () {
  function reachable() {
    const places = "mjx-container[display=true], .pst-scrollable-table-container, .rm-figure, article figure, .cell_output .output.text_html, .cell_output .output.text_markdown, div.highlight pre";
    for (const node of document.querySelectorAll(places)) {
      if (node.scrollWidth > node.clientWidth + 1) node.tabIndex = 0;
    }
  }
  // Paper is white, whatever the theme.
  const root = document.documentElement;
  let theme = null;
  window.addEventListener("beforeprint", () => { theme = root.dataset.theme; root.dataset.theme = "light"; for (const node of document.querySelectorAll(".rm-claim")) node.open = true; });
  window.addEventListener("afterprint", () => { if (theme) root.dataset.theme = theme; });
  // What an address names may be folded away.
  const unfold = () => {
    const to = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = to; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (to && to.tagName === "DETAILS") to.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  window.addEventListener("load", () => {
    unfold();
    const drawn = window.MathJax && window.MathJax.startup ? window.MathJax.startup.promise : Promise.resolve();
    drawn.then(reachable);
    window.addEventListener("resize", reachable);
  });
}());
