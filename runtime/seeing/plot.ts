/** Loss curves as text for a terminal, and as an HTML page. */

import { ArgumentError } from '../errors/errors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { anObject, count, flag, iterable, text, that } from '../options/option-kinds.ts';

/** One curve, or several by name; values are at steps 0, 1, 2, …. NaN and infinite values leave gaps. */
export type Curves = readonly number[] | Readonly<Record<string, readonly number[]>>;

export interface PlotOptions {
  /** A line above the plot. */
  readonly title?: string;
  /** The width of the plot area in characters, 60 by default. */
  readonly width?: number;
  /** The height of the plot area in lines, 12 by default. */
  readonly height?: number;
  /** Uses a logarithmic axis; values ≤ 0 leave gaps. */
  readonly log?: boolean;
}

const plotKinds: OptionKinds<PlotOptions> = {
  title: text,
  width: count(1),
  height: count(1),
  log: flag,
};

interface Curve {
  readonly name: string;
  readonly values: readonly number[];
}

const someCurves = that(
  'an array of numbers, or an object of such arrays',
  (value) => anObject.accepts(value) && !isTensor(value),
);

function curvesOf(curves: Curves, log: boolean): Curve[] {
  expectArguments('plot', { curves }, { curves: someCurves });
  const entries: [string, readonly number[]][] = Array.isArray(curves)
    ? [['', curves as readonly number[]]]
    : Object.entries(curves as Readonly<Record<string, readonly number[]>>);
  for (const [name, values] of entries)
    expectArguments('plot', { [name]: values }, { [name]: iterable });
  const shown = (value: number) => (log ? (value > 0 ? Math.log10(value) : Number.NaN) : value);
  const found = entries.map(([name, values]) => ({ name, values: Array.from(values, shown) }));
  if (found.some(({ values }) => values.some(Number.isFinite))) return found;
  throw new ArgumentError({
    what: 'plot: nothing to draw',
    given: entries.length === 0 ? 'no curve' : `${entries.length} curve(s) without a finite value`,
    expected: 'an array of numbers, or an object of such arrays',
    remedy: 'collect losses first: losses.push(await loss.item())',
  });
}

interface Range {
  readonly low: number;
  readonly high: number;
}

function rangeOf(curves: readonly Curve[]): Range {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { values } of curves) {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low === high ? { low: low - 0.5, high: high + 0.5 } : { low, high };
}

const marks = ['●', '○', '▲', '△', '■', '□'];

/** Returns the curves as lines of text, with the range of values and the number of steps. */
export function plot(curves: Curves, options: PlotOptions = {}): string {
  expectOptions('plot', options, plotKinds);
  const { width = 60, height = 12, log = false, title } = options;
  const all = curvesOf(curves, log);
  const { low, high } = rangeOf(all);
  const steps = Math.max(...all.map(({ values }) => values.length));
  const cells = Array.from({ length: height }, () => new Array<string>(width).fill(' '));
  all.forEach(({ values }, index) => {
    for (let column = 0; column < width; column++) {
      const value = meanIn(values, (column * steps) / width, ((column + 1) * steps) / width);
      if (value === undefined) continue;
      const row = Math.round(((high - value) / (high - low)) * (height - 1));
      cells[row]![column] = marks[index % marks.length]!;
    }
  });
  const labels = [label(high, log), label((high + low) / 2, log), label(low, log)];
  const margin = Math.max(...labels.map(({ length }) => length));
  const labelAt = new Map([
    [0, labels[0]!],
    [Math.floor((height - 1) / 2), labels[1]!],
    [height - 1, labels[2]!],
  ]);
  const lines = cells.map((row, i) => {
    const text = (labelAt.get(i) ?? '').padStart(margin);
    return `${text} ${labelAt.has(i) ? '┤' : '│'}${row.join('')}`.trimEnd();
  });
  const end = String(steps - 1);
  const axis = `${' '.repeat(margin)} └${'─'.repeat(width)}`;
  const ticks = `${' '.repeat(margin + 2)}0${end.padStart(Math.max(width - 1, end.length))}`;
  const named = all.filter(({ name }) => name !== '');
  const legend = named.map(({ name }, i) => `${marks[i % marks.length]} ${name}`).join('  ');
  return [...(title ? [title] : []), ...lines, axis, ticks, ...(legend ? [legend] : [])].join('\n');
}

/** Returns the mean of the finite values in a column's steps; for an empty column, the nearest earlier value. */
function meanIn(values: readonly number[], from: number, to: number): number | undefined {
  const first = Math.floor(from);
  const part = values.slice(first, Math.max(Math.ceil(to), first + 1)).filter(Number.isFinite);
  if (part.length === 0) return undefined;
  return part.reduce((sum, value) => sum + value, 0) / part.length;
}

function label(value: number, log: boolean): string {
  return Number((log ? 10 ** value : value).toPrecision(3)).toString();
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => entities[character]!);

/** Colors for light and dark pages. */
const colors = [
  ['#c2410c', '#fb923c'],
  ['#0b62c4', '#5eb0ff'],
  ['#1a7f4b', '#4ccb86'],
  ['#8b6fb8', '#b79ee6'],
  ['#a16207', '#e0b341'],
  ['#be185d', '#f472b6'],
] as const;

const colorOf = (curve: number): string =>
  `light-dark(${colors[curve % colors.length]!.join(', ')})`;

/** Returns the curves as an HTML page with an SVG drawing, without scripts. */
export function plotPage(curves: Curves, options: PlotOptions = {}): string {
  expectOptions('plotPage', options, plotKinds);
  const { log = false, title = 'Training' } = options;
  const all = curvesOf(curves, log);
  const { low, high } = rangeOf(all);
  const steps = Math.max(...all.map(({ values }) => values.length), 2);
  const [w, h, left, top] = [860, 380, 100, 20];
  const x = (step: number) => left + (step / (steps - 1)) * w;
  const y = (value: number) => top + ((high - value) / (high - low)) * h;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const value = low + part * (high - low);
    const at = y(value).toFixed(1);
    return `<path d="M${left} ${at}h${w}" class="grid"/><text x="${left - 8}" y="${at}" class="value">${label(value, log)}</text>`;
  });
  const lines = all.map(({ values }, i) => {
    const points = values.flatMap((value, step) =>
      Number.isFinite(value) ? [`${x(step).toFixed(1)},${y(value).toFixed(1)}`] : [],
    );
    return `<polyline points="${points.join(' ')}" style="stroke:${colorOf(i)}"/>`;
  });
  const legend = all
    .filter(({ name }) => name !== '')
    .map(({ name }, i) => `<span style="color:${colorOf(i)}">■</span> ${escaped(name)} `);
  return `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title>
<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;max-width:64rem}
h1{overflow-wrap:anywhere;font-size:1.6rem;line-height:1.2}
svg{width:100%;height:auto}polyline{fill:none;stroke-width:1.5}.grid{stroke:#8884}text{font-size:12px;fill:currentColor}
.value{text-anchor:end;dominant-baseline:middle}
@media(max-width:40rem){body{margin:1rem}text{font-size:22px}polyline{stroke-width:3}}</style>
<h1>${escaped(title)}</h1><p>${legend.join('')}</p>
<svg viewBox="0 0 ${left + w + 20} ${top + h + 40}" role="img" aria-label="${escaped(title)}">
${[...grid, ...lines].join('\n')}
<text x="${left}" y="${top + h + 24}">step 0</text>
<text x="${left + w}" y="${top + h + 24}" text-anchor="end">step ${steps - 1}</text>
</svg></html>
`;
}
