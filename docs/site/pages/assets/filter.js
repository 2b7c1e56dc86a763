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
