// What scrolls by itself must be reachable from the keyboard; what is printed must be dark on white.
(function () {
  function reachable() {
    const places = ".katex-display, .pst-scrollable-table-container, .rm-figure, article figure, .cell_output .output.text_html, .cell_output .output.text_markdown, div.highlight pre";
    for (const node of document.querySelectorAll(places)) {
      if (node.scrollWidth > node.clientWidth + 1) node.tabIndex = 0;
    }
  }
  // Paper is white, whatever the theme.
  const root = document.documentElement;
  let theme = null;
  window.addEventListener("beforeprint", () => { theme = root.dataset.theme; root.dataset.theme = "light"; for (const node of document.querySelectorAll(".rm-claim, .rm-lab")) node.open = true; });
  window.addEventListener("afterprint", () => { if (theme) root.dataset.theme = theme; });
  // What an address names may be folded away.
  const unfold = () => {
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* a lone percent sign is taken as it stands */ }
    const to = name && document.getElementById(name);
    for (let node = to; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (to && to.closest("details")) to.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);

  // Equations. Only pages that have some load KaTeX; a number that stands before its equation stays.
  function equations() {
    const script = document.querySelector('script[src*="katex.min.js"]');
    if (!script) return;
    if (!window.katex) { // it is loaded beside the page, and may come later
      script.addEventListener("load", equations, { once: true });
      return;
    }
    const look = { rel: "stylesheet", href: new URL("katex.min.css", script.src).href };
    document.head.append(Object.assign(document.createElement("link"), look));
    for (const node of document.querySelectorAll(".math")) {
      for (const source of [...node.childNodes].filter((part) => part.nodeType === Node.TEXT_NODE && part.data.trim())) {
        const tex = source.data.trim(), drawn = document.createElement("span");
        window.katex.render(tex.slice(2, -2), drawn, { displayMode: tex.startsWith("\\["), throwOnError: false });
        source.replaceWith(drawn);
      }
    }
  }
  window.addEventListener("DOMContentLoaded", equations);

  // What a number or a verdict in the text rests on, and what a word of the glossary means: shown when it is pointed at, focused
  // or touched.
  function rests() {
    const box = document.createElement("div");
    box.className = "rm-rests";
    box.id = "rm-rests";
    box.setAttribute("role", "tooltip");
    box.hidden = true;
    document.body.append(box);
    let shown = null;
    const words = (link) => {
      if (link.dataset.means) return link.dataset.means;
      const to = document.getElementById(link.hash.slice(1));
      if (!to) return "";
      if (to.classList.contains("rm-claim")) {
        const measured = [...to.querySelectorAll("dt")].find((dt) => dt.textContent === "Measured");
        return `${to.querySelector(".rm-statement").textContent} ${measured ? `Measured: ${measured.nextElementSibling.textContent}` : ""}`;
      }
      const [written, here, from] = [...to.cells].map((cell) => cell.textContent);
      return `${from}${written === here ? "" : `. Here: ${here}`}`;
    };
    const show = (link) => {
      box.textContent = words(link);
      if (!box.textContent) return;
      box.hidden = false;
      const at = link.getClientRects()[0], wide = document.documentElement.clientWidth;
      box.style.left = `${Math.max(8, Math.min(at.left, wide - box.offsetWidth - 8)) + window.scrollX}px`;
      box.style.top = `${at.bottom + 6 + window.scrollY}px`;
      link.setAttribute("aria-describedby", box.id);
      shown = link;
    };
    const hide = () => { box.hidden = true; shown?.removeAttribute("aria-describedby"); shown = null; };
    let touched = false;
    for (const link of document.querySelectorAll("a.rm-term[title]")) { // or the browser would show it as well
      link.dataset.means = link.title;
      link.removeAttribute("title");
    }
    for (const link of document.querySelectorAll("a.rm-fact, a.rm-term")) {
      link.addEventListener("pointerdown", (event) => { touched = event.pointerType === "touch"; });
      link.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") show(link); });
      link.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
      link.addEventListener("focus", () => { if (!touched) show(link); });
      link.addEventListener("blur", hide);
      link.addEventListener("click", (event) => { // the first touch tells, the second leads to the table
        if (touched && shown !== link) { event.preventDefault(); show(link); } else hide();
      });
    }
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    document.addEventListener("pointerdown", (event) => { if (shown && !event.target.closest("a.rm-fact, a.rm-term")) hide(); });
  }

  // The first page asks before it shows.
  function question() {
    const root = document.getElementById("rm-question");
    if (!root) return;
    const reveal = root.querySelector(".rm-reveal"), said = root.querySelector("output");
    const buttons = [...root.querySelectorAll("button")], squares = [...reveal.querySelectorAll("td .rm-kind")];
    reveal.hidden = true;
    root.querySelector(".rm-guess").hidden = false;
    for (const button of buttons) button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", other === button);
      reveal.hidden = false;
      const same = squares.filter((square) => square.classList.contains(`rm-${button.dataset.kind}`)).length;
      said.textContent = `You say ${button.textContent}. So do ${same} of ${squares.length} trained models in most of their answers, and it depends on how they began.`;
    });
  }

  // What is wider than the page scrolls by itself, and says so.
  function wider() {
    for (const box of document.querySelectorAll(".rm-figure, .bd-article figure, .pst-scrollable-table-container, .cell_output .output.text_html")) {
      const wide = [...box.children].some((part) => part.scrollWidth > box.clientWidth + 4) && box.scrollWidth > box.clientWidth + 4;
      box.classList.toggle("rm-wide", wide);
    }
  }

  // One switch for all code of a page.
  function codeSwitch() {
    const cells = [...document.querySelectorAll(".cell details.hide")], title = document.querySelector("article h1");
    if (cells.length < 2 || !title) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rm-code-switch";
    const show = (shown) => {
      root.classList.toggle("rm-no-code", !shown);
      for (const cell of cells) cell.open = shown;
      button.textContent = shown ? "Hide the code" : "Show the code";
      button.setAttribute("aria-pressed", shown);
    };
    button.addEventListener("click", () => show(root.classList.contains("rm-no-code")));
    show(false);
    title.after(button);
  }

  // On a phone figures have their panels one above the other; on paper, which is as narrow, they have not.
  const phone = window.matchMedia("screen and (max-width: 46rem)");
  function narrow() {
    for (const image of document.querySelectorAll('img[src$="/bridge.png"], img.rm-narrow')) {
      image.dataset.wide ||= image.getAttribute("src");
      const own = image.dataset.wide.split("/").pop().replace(".png", "-narrow.png");
      image.setAttribute("src", phone.matches ? `../_static/${own}` : image.dataset.wide);
      image.classList.toggle("rm-narrow", phone.matches);
    }
    for (const image of document.querySelectorAll("img.rm-stacked")) {
      const wide = [...image.closest(".cell_output").querySelectorAll(".rm-figure")].findLast((f) => f.compareDocumentPosition(image) & Node.DOCUMENT_POSITION_FOLLOWING);
      if (!wide) continue;
      image.hidden = !phone.matches;
      wide.hidden = phone.matches;
      image.alt = wide.querySelector("img").alt;
      below(image);
    }
  }
  function below(image) { // captions are written for panels side by side
    const caption = [...image.closest(".cell_output").querySelectorAll(".rm-caption")].find((c) => image.compareDocumentPosition(c) & Node.DOCUMENT_POSITION_FOLLOWING);
    const turned = image.classList.contains("rm-turned");
    const said = turned ? /\b(top|above|bottom|below)\b(?! \d)/i : /\b[Ll]eft\b(?!”| in each| out| over)|on the right|\(right|Right:/;
    if (!caption || !said.test(caption.textContent)) return;
    const note = caption.querySelector(".rm-below") || caption.appendChild(document.createElement("span"));
    note.className = "rm-below";
    note.textContent = turned ? " On this screen, what is above is left, and below right." : " On this screen, left is above and right below.";
    note.hidden = !phone.matches;
  }
  phone.addEventListener("change", narrow);

  // A figure that is clicked fills the window; Escape or another click closes it.
  function zoom() {
    const dialog = document.createElement("dialog");
    dialog.className = "rm-zoom";
    dialog.setAttribute("aria-label", "Figure, enlarged");
    dialog.addEventListener("click", () => dialog.close());
    document.body.append(dialog);
    for (const image of document.querySelectorAll(".rm-figure img, .bd-article figure > img")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "rm-enlarge";
      button.title = "Enlarge the figure";
      button.setAttribute("aria-label", "Enlarge the figure");
      button.textContent = "⤢";
      const open = () => { dialog.replaceChildren(Object.assign(image.cloneNode(), { tabIndex: -1 })); dialog.showModal(); };
      button.addEventListener("click", open);
      image.addEventListener("click", open);
      image.before(button);
    }
  }

  // From a file the browser does not let a script read other pages, so that there can be no snippets.
  if (location.protocol === "file:" && document.getElementById("search-results") === null && /search\.html$/.test(location.pathname)) {
    if (typeof DOCUMENTATION_OPTIONS !== "undefined") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
    window.addEventListener("DOMContentLoaded", () => {
      const note = document.createElement("p");
      note.className = "rm-search-note";
      note.textContent = "Opened from disk, search finds pages and headings. For excerpts, serve the pages: python -m http.server -d _build/html";
      (document.getElementById("search-results") || document.querySelector("article"))?.before(note);
    });
  }
  window.addEventListener("load", () => {
    unfold();
    narrow();
    codeSwitch();
    question();
    rests();
    zoom();
    document.fonts.ready.then(reachable);
    document.fonts.ready.then(wider);
    window.addEventListener("resize", reachable);
    window.addEventListener("resize", wider);
  });
}());
