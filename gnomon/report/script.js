// Sorting, copying, opening, turning, and telling what a line is: the page is whole without it. It is the one script that a page's policy lets run.
const reveal = () => {
  for (let e = document.getElementById(location.hash.slice(1)); e; e = e.parentElement) if (e.matches('details')) e.open = true;
};
const valueAt = ([low, high, from, to, logarithmic], at) => {  // to the thousandth of the axis that a place shows
  const part = (at - from) / (to - from), digits = Math.max(0, 3 - Math.floor(Math.log10(high - low)));
  const x = logarithmic ? (low * (high / low) ** part).toPrecision(3) : (low + part * (high - low)).toFixed(Math.min(digits, 9));
  return (Number(x) || 0).toLocaleString('en', {maximumFractionDigits: 9}).replace('-', '−');
};
// What a page does, for all of it or for a part that came later.
const enliven = root => {
  for (const table of root.querySelectorAll('table.data')) {
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
  for (const clock of root.querySelectorAll('.clock')) {
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
  // Of a line chart, the line next to the pointer, or the one whose name it is on, stands out and tells its value.
  for (const field of root.querySelectorAll('g.field')) {
    const svg = field.ownerSVGElement, [x, y] = [field.dataset.x, field.dataset.y].map(s => s.split(' ').map(Number));
    const lines = [...field.querySelectorAll('.series[data-name] path.line')].map(path => ({
      group: path.parentElement, points: [...path.getAttribute('d').matchAll(/([\d.]+) ([\d.]+)/g)].map(p => [+p[1], +p[2]])}));
    if (!lines.length) continue;
    const words = document.createElementNS(svg.namespaceURI, 'text');
    words.setAttribute('class', 'told');
    field.append(words);
    const light = series => {
      svg.classList.toggle('pointed', series !== undefined);
      for (const group of field.querySelectorAll('.series')) group.classList.toggle('near', group.dataset.series === series);
      if (series === undefined) words.textContent = '';
    };
    svg.addEventListener('pointerleave', () => light());
    svg.addEventListener('pointermove', event => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const named = event.target.closest('.series:not([data-name])')?.dataset.series;
      let best = {distance: 20};
      for (const {group, points} of lines) {
        if (group.classList.contains('hidden') || (named && group.dataset.series !== named)) continue;
        if (named) best = {group, px: points.at(-1)[0], py: points.at(-1)[1]};
        else points.forEach((to, i) => {
          const from = points[Math.max(i - 1, 0)], [dx, dy] = [to[0] - from[0], to[1] - from[1]];
          const part = Math.min(1, Math.max(0, ((at.x - from[0]) * dx + (at.y - from[1]) * dy) / (dx * dx + dy * dy || 1)));
          const distance = Math.hypot(from[0] + part * dx - at.x, from[1] + part * dy - at.y), [px, py] = part < .5 ? from : to;
          if (distance < best.distance) best = {distance, group, px, py};
        });
      }
      if (!best.group) return light();
      light(best.group.dataset.series);
      words.textContent = `${best.group.dataset.name}: ${valueAt(y, best.py)} at ${valueAt(x, best.px)}`;
      const right = best.px > (x[2] + x[3]) / 2;
      words.setAttribute('text-anchor', right ? 'end' : 'start');
      words.setAttribute('x', best.px + (right ? -8 : 8));
      words.setAttribute('y', best.py < y[3] + 24 ? best.py + 20 : best.py - 10);
    });
  }
  // An entry of a legend hides its line, in the wide picture and the narrow one.
  for (const item of root.querySelectorAll('ul.legend li')) {
    const button = document.createElement('button');
    button.append(...item.childNodes);
    button.setAttribute('aria-pressed', 'true');
    item.append(button);
    button.addEventListener('click', () => {
      const hidden = button.getAttribute('aria-pressed') === 'true', same = `[data-series="${item.dataset.series}"]`;
      for (const group of item.closest('figure').querySelectorAll('.series' + same)) group.classList.toggle('hidden', hidden);
      for (const other of item.closest('figure').querySelectorAll(`li${same} button`)) other.setAttribute('aria-pressed', String(!hidden));
    });
  }
};
addEventListener('hashchange', reveal);
reveal();
enliven(document);
