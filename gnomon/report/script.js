// Sorting, copying, opening and turning only: the page is whole without it. It is the one script that a page's policy lets run.
const reveal = () => {
  for (let e = document.getElementById(location.hash.slice(1)); e; e = e.parentElement) if (e.matches('details')) e.open = true;
};
addEventListener('hashchange', reveal);
reveal();
for (const table of document.querySelectorAll('table.data')) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;  // a button without a name
    const value = row => row.cells[column].dataset.sort !== undefined ? +row.cells[column].dataset.sort : row.cells[column].textContent;
    const button = document.createElement('button');
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute('aria-sort', 'none');
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      for (const other of heads) if (other.hasAttribute('aria-sort')) other.setAttribute('aria-sort', 'none');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const order = (p, q) => p < q ? -1 : p > q ? 1 : 0;
      body.append(...[...body.rows].sort((p, q) => order(value(p), value(q)) * (up ? 1 : -1)));
    });
  });
  // Programs read a hyphen for minus, and numbers without commas.
  const plain = text => text.replaceAll('−', '-').replace(/(\d),(?=\d{3})/g, '$1');
  const quoted = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const copy = document.createElement('button');
  copy.textContent = 'copy as CSV';
  copy.addEventListener('click', () => {
    const area = document.createElement('textarea');
    area.value = [...table.rows].map(row => [...row.cells].map(cell => quoted(plain(cell.textContent))).join(',')).join('\n');
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    copy.textContent = 'copied';
    copy.focus();
  });
  table.parentNode.after(copy);
}
// The hands of a clock, at the position of its slider: every hand ends at (sin, cos) of its angle.
for (const clock of document.querySelectorAll('.clock')) {
  const slider = clock.querySelector('input'), button = clock.querySelector('button'), output = clock.querySelector('output');
  const turn = () => {
    output.textContent = slider.value;
    for (const hand of clock.querySelectorAll('[data-w]')) {
      const angle = slider.value * hand.dataset.w, length = +hand.dataset.r;
      hand.setAttribute('x2', +hand.getAttribute('x1') + length * Math.sin(angle));
      hand.setAttribute('y2', +hand.getAttribute('y1') - length * Math.cos(angle));
    }
  };
  let running = 0;
  const step = () => {
    slider.value = +slider.value < +slider.max ? +slider.value + 1 : 0;
    turn();
  };
  slider.addEventListener('input', turn);
  button.addEventListener('click', () => {
    running = running ? clearInterval(running) : setInterval(step, 250);
    button.textContent = running ? 'stop' : 'run';
  });
  clock.querySelector('.turn').hidden = false;
  turn();
}
