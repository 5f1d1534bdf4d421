import { predictedPeak } from '../../../src/explain/predicted-peak.ts';
import { FullGraphError, type StaticFunction, toStatic } from '../../../src/index.ts';
import { allocated, type Fn, functionOf, outcome, scope } from './outcomes.ts';
import { type Node, print, smaller } from './tree.ts';

const inputs = [
  [1.1, 2.3],
  [-1.7, 0.3],
  [3.1, -4.3],
];

/** Orders take most of the time to plan, and are tested where they are made. */
export const inOrder = { memory: { order: false, slices: false } } as const;

/** How a function is captured. */
export const modes = {
  'one program': { fullGraph: true },
  auto: { capture: 'auto', strict: true },
  breaks: { strict: true },
} as const;

export type Mode = keyof typeof modes;

/**
 * `refused`: said by name, that the function can't be one program. `rounded`: a gradient differs in its last bits, as it
 * may where a tensor is an element of a list.
 */
export interface Problem {
  readonly kind: 'wrong' | 'refused' | 'rounded';
  readonly text: string;
}

export type Check = (nodes: readonly Node[]) => Problem | null;

/** What is wrong with the function captured in this mode; null: nothing. */
export function problem(nodes: readonly Node[], mode: Mode, options: object): Problem | null {
  const eager = functionOf(nodes);
  const graph = toStatic(functionOf(nodes), { ...options, ...modes[mode], scope });
  const expected = inputs.map((values) => outcome(eager, values));
  const before = allocated();
  const wrong = (text: string): Problem => ({ kind: 'wrong', text });
  const calls = callsForNumbers(nodes);
  const putsInLists = /list\.(push|unshift|splice)|\[\.\.\.list/.test(print(nodes));
  let rounded: Problem | null = null;
  try {
    for (const i of [0, 1, 2, 0]) {
      const found = outcome(graph, inputs[i]!, 'captured');
      void graph.ready();
      if (found === expected[i]) continue;
      // The function's own code has run after the program, and drawn other numbers.
      if (calls && isThrown(expected[i]!)) continue;
      const text = `of ${inputs[i]}: ${difference(expected[i]!, found)}`;
      if (!putsInLists || !isRounded(expected[i]!, found)) return wrong(text);
      rounded = { kind: 'rounded', text };
    }
  } catch (error) {
    if (error instanceof FullGraphError) return { kind: 'refused', text: error.message };
    return wrong(String((error as Error).stack));
  }
  if (mode === 'one program') {
    const text = severalPrograms(graph) ?? mispredicted(graph);
    if (text) return wrong(text);
  }
  const leaked = allocated() - before;
  return leaked === 0 ? rounded : wrong(`${leaked} bytes are left`);
}

/** Whether the numbers of a run decide something: where the program is not all of it, others are called. */
export function callsForNumbers(nodes: readonly Node[]): boolean {
  return /Math\.random|Date\.now/.test(print(nodes));
}

const isThrown = (expected: string): boolean => expected.startsWith('["RangeError"');

/** Nothing but gradients differs, and they hardly do. */
function isRounded(expected: string, found: string): boolean {
  const [one, other] = [expected, found].map((text) => JSON.parse(text) as unknown[]);
  const rest = [one, other].map((outcome) => JSON.stringify(outcome!.toSpliced(1, 1)));
  return rest[0] === rest[1] && isClose(one![1], other![1]);
}

function isClose(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, i) => isClose(each, b[i]));
  }
  return a === b || Math.abs(Number(a) - Number(b)) <= 1e-6 + 1e-5 * Math.abs(Number(a));
}

/** The first that differs, with what stands before it. */
function difference(expected: string, found: string): string {
  const at = [...expected].findIndex((letter, i) => letter !== found[i]);
  const part = (text: string) => text.slice(Math.max(0, at - 60), at + 60);
  return `\n${part(expected)} became\n${part(found)}`;
}

function severalPrograms(graph: StaticFunction<Fn>): string | null {
  const { translations, graphs, breaks } = graph.stats();
  // A throw that doesn't depend on the data is left to the function itself.
  const broken = breaks.some(({ reason }) => reason !== 'throw');
  return translations > 1 || graphs > 1 || broken ? 'it is several programs' : null;
}

/** What the last run took at its peak is what its plans predict of its decisions. */
export function mispredicted(graph: Pick<StaticFunction<Fn>, 'programs'>): string | null {
  for (const { record, stages } of graph.programs()) {
    if (!stages || record.runs === 0 || !record.decisions.complete) continue;
    const predicted = predictedPeak(record);
    if (record.peakBytes === predicted) continue;
    return `${record.peakBytes} bytes at the peak, and predicted were ${predicted}`;
  }
  return null;
}

/** The least of the function that is still wrong. */
export function shrunk(nodes: readonly Node[], check: Check): readonly Node[] {
  for (const less of smaller(nodes)) {
    if (isWrong(less, check)) return shrunk(less, check);
  }
  return nodes;
}

/** What is left may be no program: a jump without its loop. */
function isWrong(nodes: readonly Node[], check: Check): boolean {
  try {
    return check(nodes)?.kind === 'wrong';
  } catch {
    return false;
  }
}
