/** Runs in the browser when the page is loaded: puts the charts in their places. */

import { Chart } from './chart.js';
import { lineColorName } from './format.js';

const { opNames, charts } = JSON.parse(document.getElementById('data').textContent);

const drawn = Array.from(
  document.querySelectorAll('.chart'),
  (place) => new Chart(place, charts[Number(place.dataset.chart)], opNames),
);
for (const key of document.querySelectorAll('.key[data-line]')) {
  key.style.background = `var(${lineColorName(Number(key.dataset.line))})`;
}

window.addEventListener('resize', () => {
  for (const chart of drawn) chart.resize();
});
// The canvas doesn't follow the style by itself.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const chart of drawn) chart.draw();
});
