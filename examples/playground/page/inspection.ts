/** The right half of the page: the result of an inspection. */

import type { Inspection, ShownBreak } from '../messages.ts';
import { element, shownBytes, shownCount, shownTime } from './dom.ts';
import { memoryChart } from './memory-chart.ts';
import type { Tab } from './tabs.ts';

/** Peaks above what was allocated before, kernels, graphs, and whether the results are bitwise equal. */
export function figures(result: Inspection): Node[] {
  const { eager, compiled, predicted, graphs, ops, breaks, eagerKernels, stepTime } = result;
  const [before, after] = [eager.peak - eager.held, compiled.peak - compiled.held];
  const change = before > 0 ? Math.round((1 - after / before) * 100) : 0;
  const isEqual = JSON.stringify(eager.losses) === JSON.stringify(compiled.losses);
  const promised =
    predicted === null
      ? `in ${shownCount(breaks.length + 1, 'part')}`
      : predicted === after
        ? 'as predicted, to the byte'
        : `predicted: ${shownBytes(predicted)}`;
  return [
    figure(
      'Peak added by a step',
      shownBytes(after),
      `eager ${shownBytes(before)}; ${promised}`,
      change,
    ),
    figure(
      'Kernels',
      String(compiled.kernels),
      `eager ${eager.kernels}; ${eagerKernels} outside of graphs`,
    ),
    figure(
      'Graphs',
      String(graphs),
      `${shownCount(ops, 'op')}, ${shownCount(breaks.length, 'graph break')}`,
    ),
    figure('Results', isEqual ? 'equal bits' : 'different', `step ${shownTime(stepTime)}`),
  ];
}

function figure(name: string, value: string, note: string, saved = 0): Node {
  const badge = saved > 0 ? [element('small', {}, `−${saved} %`)] : [];
  return element(
    'div',
    {},
    element('dt', {}, name),
    element('dd', {}, element('b', { class: 'value' }, value), ...badge, element('span', {}, note)),
  );
}

/** One tab for memory and breaks, one per stage. */
export function tabsOf(result: Inspection): Tab[] {
  const stages = new Map<string, Node[]>();
  for (const { title, text } of result.stages) {
    const name = tabNames.find(([pattern]) => pattern.test(title))?.[1];
    if (!name) continue;
    const nodes = stages.get(name) ?? [];
    stages.set(name, nodes);
    nodes.push(element('h3', {}, title), element('pre', {}, text));
  }
  return [
    { name: 'Memory', content: () => memoryPanel(result) },
    { name: 'Breaks', count: result.breaks.length, content: () => breaksPanel(result.breaks) },
    ...[...stages].map(([name, nodes]) => ({ name, content: () => element('div', {}, ...nodes) })),
    { name: 'Explain', content: () => element('pre', { class: 'prose' }, result.explanation) },
  ];
}

const tabNames: readonly (readonly [RegExp, string])[] = [
  [/bytecode$/, 'Bytecode'],
  [/guards$/, 'Guards'],
  [/(?<!joint )program$/, 'Program'],
  [/joint program$/, 'Joint'],
  [/plan of/, 'Plan'],
];

function memoryPanel(result: Inspection): Node {
  const { budget, planned, unlimited } = result;
  const note =
    budget === null
      ? 'Bytes allocated during one step. With a smaller budget, values are recomputed instead of kept.'
      : budget >= (planned ?? 0)
        ? `The plan fits the budget of ${shownBytes(budget)}; without a budget it needs ${shownBytes(unlimited ?? 0)}.`
        : `No plan fits the budget of ${shownBytes(budget)}: this is the smallest one found.`;
  return element('div', {}, element('p', { class: 'hint' }, note), memoryChart(result));
}

function breaksPanel(breaks: readonly ShownBreak[]): Node {
  if (breaks.length === 0) return element('p', {}, 'None: the function is one graph.');
  return element(
    'ol',
    { class: 'breaks' },
    ...breaks.map(({ line, message, why, hint, patch }) =>
      element(
        'li',
        {},
        element('b', {}, `line ${line}: ${message}`),
        element('p', {}, why),
        element('p', { class: 'hint' }, hint),
        ...(patch.length > 0
          ? [element('p', {}, 'To avoid it:'), element('pre', {}, ...patch.map(patchLine))]
          : []),
      ),
    ),
  );
}

function patchLine(line: string): Node {
  const kind = line.startsWith('+') ? 'added' : 'removed';
  return element('span', { class: kind }, `${line}\n`);
}
