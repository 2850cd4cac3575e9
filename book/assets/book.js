// What scrolls by itself must be reachable from the keyboard.
(function () {
  function reachable() {
    const places = "mjx-container[display=true], .pst-scrollable-table-container, .rm-figure, article figure, .cell_output .output.text_html, .cell_output .output.text_markdown, div.highlight pre";
    for (const node of document.querySelectorAll(places)) {
      if (node.scrollWidth > node.clientWidth + 1) node.tabIndex = 0;
    }
  }
  window.addEventListener("load", () => {
    const drawn = window.MathJax && window.MathJax.startup ? window.MathJax.startup.promise : Promise.resolve();
    drawn.then(reachable);
    window.addEventListener("resize", reachable);
  });
}());
