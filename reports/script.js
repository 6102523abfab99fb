// Filters, links into what is folded, and copy buttons. The page is complete without it.
"use strict";

(() => {
  const form = document.querySelector(".filters");
  const items = [...document.querySelectorAll(".item")].map((element) => ({
    element,
    verdict: element.dataset.verdict,
    level: element.dataset.level,
    area: element.dataset.area,
  }));

  // Everything but the bytes, in which nobody searches; gathered when somebody does.
  function text(item) {
    if (item.text === undefined) {
      const copy = item.element.cloneNode(true);
      for (const hex of copy.querySelectorAll(".hex")) hex.remove();
      item.text = copy.textContent.toLowerCase();
    }
    return item.text;
  }

  const chosen = (name) => [...form.querySelectorAll(`[name=${name}]:checked`)].map((box) => box.value);

  function filter() {
    const verdicts = chosen("verdict");
    const levels = chosen("level");
    const area = form.elements.area.value;
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const fits =
        (!verdicts.length || verdicts.includes(item.verdict)) &&
        (!levels.length || levels.includes(item.level)) &&
        (!area || area === item.area) &&
        words.every((word) => text(item).includes(word));
      item.element.hidden = !fits;
      shown += fits;
    }
    const all = shown === items.length;
    const told = shown ? `${shown} of ${items.length} shown` : "Nothing matches";
    form.querySelector("output").textContent = all ? "" : told;
    for (const nothing of document.querySelectorAll(".nothing")) {
      nothing.hidden = nothing.parentElement.querySelector(".item:not([hidden])") !== null;
    }
  }

  // The state of the filter is kept behind the # of the address, as NAME=VALUE&NAME=VALUE.
  function remember() {
    const state = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `#${state}`);
  }

  function recall(state) {
    form.reset();
    for (const [name, value] of state) {
      const field = form.elements[name];
      if (!field) continue;
      if (name === "area" || name === "text") field.value = value;
      else for (const box of form.querySelectorAll(`[name=${name}]`)) box.checked ||= box.value === value;
    }
    filter();
  }

  function follow() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash.includes("=")) {
      recall(new URLSearchParams(location.hash.slice(1)));
      document.getElementById("requirements").scrollIntoView();
      return;
    }
    const target = document.getElementById(hash);
    if (!target) return;
    if (target.closest("[hidden]")) {
      form.reset();
      filter();
    }
    for (let outer = target; outer; outer = outer.parentElement) {
      if (outer instanceof HTMLDetailsElement) outer.open = true;
    }
    target.scrollIntoView();
  }

  async function copy(text, source) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // No clipboard for a page opened as a file: leave the text selected instead.
      if (!source) return false;
      getSelection().selectAllChildren(source);
      return document.execCommand("copy");
    }
  }

  form.addEventListener("input", () => {
    filter();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", async (event) => {
    const link = event.target.closest(".here");
    if (link) copy(link.href);
    const button = event.target.closest("button");
    if (!button) return;
    const source = button.previousElementSibling;
    if (button.matches(".copy") && (await copy(source.textContent, source))) {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    }
    // What a button resets is reset after its click.
    if (button.type === "reset") setTimeout(() => (filter(), remember()));
    if (button.dataset.open) {
      for (const test of document.querySelectorAll(".test")) test.open = button.dataset.open === "yes";
    }
  });
  addEventListener("hashchange", follow);

  for (const hidden of document.querySelectorAll(".filters, .tools, .copy")) hidden.hidden = false;
  if (location.hash) follow();
  else if (new FormData(form).get("text") || form.querySelector(":checked[type=checkbox]")) filter();
})();
