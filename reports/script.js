// Filters, links into closed tests, and copy buttons. The page is complete without it.
"use strict";

(() => {
  const form = document.querySelector(".filters");
  const items = [...document.querySelectorAll(".item")].map((element) => ({
    element,
    verdict: element.dataset.verdict,
    level: element.dataset.level,
    area: element.dataset.area,
    // Of a test only its heading: the transcripts are long, and rarely what one looks for.
    text: (element.querySelector(":scope > summary") || element).textContent.toLowerCase(),
  }));

  const chosen = (name) =>
    new Set([...form.querySelectorAll(`[name=${name}]:checked`)].map((box) => box.value));

  function filter() {
    const verdicts = chosen("verdict");
    const levels = chosen("level");
    const area = form.elements.area.value;
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const fits =
        (!verdicts.size || verdicts.has(item.verdict)) &&
        (!levels.size || levels.has(item.level)) &&
        (!area || area === item.area) &&
        words.every((word) => item.text.includes(word));
      item.element.hidden = !fits;
      shown += fits;
    }
    const all = shown === items.length;
    form.querySelector("output").textContent = all ? "" : `${shown} of ${items.length} shown`;
    for (const nothing of document.querySelectorAll(".nothing")) {
      nothing.hidden = nothing.parentElement.querySelector(".item:not([hidden])") !== null;
    }
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.hidden) {
      form.reset();
      filter();
    }
    if (target instanceof HTMLDetailsElement) target.open = true;
    target.scrollIntoView();
  }

  async function copy(button) {
    const source = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      // No clipboard for a page opened as a file: leave the text selected instead.
      getSelection().selectAllChildren(source);
      if (!document.execCommand("copy")) return;
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches(".copy")) copy(button);
    if (button.dataset.open) {
      for (const test of document.querySelectorAll(".test")) test.open = button.dataset.open === "yes";
    }
  });
  addEventListener("hashchange", follow);

  for (const hidden of document.querySelectorAll(".filters, .tools, .copy")) hidden.hidden = false;
  if (form.querySelectorAll(":checked").length || form.elements.text.value) filter();
  if (location.hash) follow();
})();
