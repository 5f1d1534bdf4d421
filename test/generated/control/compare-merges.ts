import {
  CaptureError,
  FullGraphError,
  type ToStaticOptions,
  toStatic,
} from '../../../src/index.ts';
import { inOrder, type Mode, mispredicted, modes, type Problem } from './compare.ts';
import { allocated, functionOf, type Given, inputs, outcome, scope } from './merge-outcomes.ts';
import type { Kind } from './merge-programs.ts';
import type { Node } from './tree.ts';

/** One call: which of the inputs, and of which size. */
interface Call {
  readonly input: number;
  readonly size: number;
}

const usualCalls: readonly Call[] = [0, 1, 2, 3, 0].map((input) => ({ input, size: 3 }));

/** Other sizes with the same decisions and with others, and sizes that come again. */
const sizedCalls: readonly Call[] = [
  { input: 0, size: 3 },
  { input: 1, size: 4 },
  { input: 0, size: 5 },
  { input: 2, size: 3 },
  { input: 3, size: 4 },
  { input: 1, size: 3 },
];

/** What is wrong with the function captured this way; null: nothing. */
export function mergeProblem(
  nodes: readonly Node[],
  mode: Mode,
  kind: Kind = 'plain',
  options: ToStaticOptions = {},
): Problem | null {
  const eager = functionOf(nodes, kind);
  const graph = toStatic(functionOf(nodes, kind), {
    ...inOrder,
    ...modes[mode],
    ...options,
    scope,
  });
  const calls = kind === 'sized' ? sizedCalls : usualCalls;
  const givenTo = ({ input, size }: Call): Given => ({ numbers: inputs[input]!, size, kind });
  const expected = calls.map((call) => outcome(eager, givenTo(call)));
  const before = allocated();
  const wrong = (text: string): Problem => ({ kind: 'wrong', text });
  for (const [i, call] of calls.entries()) {
    const found = outcome(graph, givenTo(call));
    void graph.ready();
    const { state, gradients } = expected[i]!;
    if (isRefusal(found.state)) return { kind: 'refused', text: found.state };
    if (found.state !== state)
      return wrong(`of ${inputs[call.input]}, size ${call.size}: ${differing(state, found.state)}`);
    if (found.gradients === gradients) continue;
    return wrong(
      `gradients of ${inputs[call.input]}, size ${call.size}: ${differing(gradients, found.gradients)}`,
    );
  }
  const text = mode === 'one program' ? mispredicted(graph) : null;
  if (text) return wrong(text);
  const leaked = allocated() - before;
  return leaked === 0 ? null : wrong(`${leaked} bytes are left`);
}

/** The lines that differ. */
function differing(expected: string, found: string): string {
  const [one, other] = [expected, found].map((text) => text.split('\n'));
  if (one!.length !== other!.length) return `${found}`;
  const lines = one!.flatMap((each, i) =>
    each === other![i] ? [] : [`\n${i}: ${each} became\n   ${other![i]}`],
  );
  return lines.join('');
}

/** A named reason why the function is not one program. */
const isRefusal = (state: string): boolean =>
  [FullGraphError, CaptureError].some(({ name }) => state.startsWith(name));
