import { CaptureError, FullGraphError, toStatic } from '../../../src/index.ts';
import { inOrder, mispredicted, type Problem, type Way, ways } from './compare.ts';
import { allocated, functionOf, inputs, outcome, scope } from './merge-outcomes.ts';
import type { Node } from './tree.ts';

/** What is wrong with the function captured in this mode; null: nothing. */
export function mergeProblem(nodes: readonly Node[], way: Way): Problem | null {
  const eager = functionOf(nodes);
  const graph = toStatic(functionOf(nodes), { ...inOrder, ...ways[way], scope });
  const expected = inputs.map((values) => outcome(eager, values));
  const before = allocated();
  const wrong = (text: string): Problem => ({ kind: 'wrong', text });
  let rounded: Problem | null = null;
  for (const i of [0, 1, 2, 3, 0]) {
    const found = outcome(graph, inputs[i]!);
    const { state, gradients } = expected[i]!;
    if (isRefusal(found.state)) return { kind: 'refused', text: found.state };
    if (found.state !== state) return wrong(`of ${inputs[i]}: ${differing(state, found.state)}`);
    if (found.gradients === gradients) continue;
    const text = `gradients of ${inputs[i]}: ${differing(gradients, found.gradients)}`;
    if (!isClose(gradients, found.gradients)) return wrong(text);
    rounded = { kind: 'rounded', text };
  }
  const text = way === 'one program' ? mispredicted(graph) : null;
  if (text) return wrong(text);
  const leaked = allocated() - before;
  return leaked === 0 ? rounded : wrong(`${leaked} bytes are left`);
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

function isClose(a: string, b: string): boolean {
  const [one, other] = [a, b].map((text) => text.split(/[\n,]/));
  return (
    one!.length === other!.length &&
    one!.every((each, i) => {
      const [x, y] = [Number(each), Number(other![i])];
      return each === other![i] || Math.abs(x - y) <= 1e-6 + 1e-5 * Math.abs(x);
    })
  );
}
