/** Numbers, colours and elements of the page. */

const grouping = new Intl.NumberFormat('en');
const lineColors = 6;

export function unitFor(bytes) {
  return bytes >= 2 ** 21 ? { name: 'MiB', bytes: 2 ** 20 } : { name: 'KiB', bytes: 2 ** 10 };
}

/** 2.91 MiB */
export function roundBytes(bytes) {
  const unit = unitFor(bytes);
  return `${(bytes / unit.bytes).toFixed(unit.name === 'MiB' ? 2 : 1)} ${unit.name}`;
}

/** 3,047,424 B */
export function exactBytes(bytes) {
  return `${grouping.format(bytes)} B`;
}

/** +256,000 */
export function formatChange(bytes) {
  return `${bytes < 0 ? '−' : '+'}${grouping.format(Math.abs(bytes))}`;
}

/** Value of a custom property of the page's style: light and dark differ. */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

/** Name of the custom property with a line's colour. */
export function lineColorName(index) {
  return `--line-${index % lineColors}`;
}

export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The coloured stroke beside a line's name. */
export function colorKey(index) {
  return element('i', { class: 'key', style: `background:var(${lineColorName(index)})` });
}

/** Index of the last of the ascending numbers that is not above `value`, or -1. */
export function lastUpTo(numbers, value) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
