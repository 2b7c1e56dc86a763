// The table of encodings shows the rows that are as asked.
const words = document.querySelector("#filter-words");
if (words) {
  const [acts, year, relative, extrapolates, count] = ["acts", "year", "relative", "extrapolates", "count"]
    .map((name) => document.querySelector(`#filter-${name}`));
  const rows = [...document.querySelectorAll(".md-content table tbody tr")];
  const fits = ([name, title, sites, when, shift, beyond]) =>
    `${name} ${title}`.toLowerCase().includes(words.value.trim().toLowerCase()) &&
    (!acts.value || sites.split(", ").includes(acts.value)) && (!year.value || Number(when) >= Number(year.value)) &&
    (!relative.checked || shift === "yes") && (!extrapolates.checked || beyond === "yes");
  const show = () => {
    for (const row of rows) row.hidden = !fits([...row.cells].map((cell) => cell.textContent.trim()));
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };
  for (const control of [words, acts, year, relative, extrapolates]) control.addEventListener("input", show);
  show();
}

// What Material leaves out: the name of its search dialog, the keyboard in code and tables that are wider than the screen, and
// one name for each navigation.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
const complete = () => {
  for (const scrolled of document.querySelectorAll(":is(pre > code, .wide, .md-typeset__scrollwrap):not([tabindex])")) scrolled.tabIndex = 0;
  document.querySelectorAll("nav.md-code__nav:not([aria-label])").forEach((nav) => nav.setAttribute("aria-label", `code ${nav.closest("pre")?.id ?? ""}`));
};
complete();
new MutationObserver(complete).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["tabindex"] });
