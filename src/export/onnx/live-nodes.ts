import type { OnnxNode } from '../../../runtime/onnx/format/proto.ts';

/**
 * The least number of outputs of an operator's nodes, if it is more than one: branches and loops return as many
 * values as their graphs.
 */
const requiredOutputs: ReadonlyMap<string, number> = new Map([
  ['If', Number.POSITIVE_INFINITY],
  ['Loop', Number.POSITIVE_INFINITY],
  ['TopK', 2],
]);

/** Returns the nodes that the results depend on, in order; unused outputs have no name. */
export function liveNodes(nodes: readonly OnnxNode[], results: readonly string[]): OnnxNode[] {
  const read = new Set(results);
  const live: OnnxNode[] = [];
  for (const node of nodes.toReversed()) {
    if (!node.output.some((name) => read.has(name))) continue;
    const required = requiredOutputs.get(node.opType ?? '') ?? 1;
    const output = node.output.map((name, i) => (i < required || read.has(name) ? name : ''));
    while (output.at(-1) === '') output.pop();
    for (const name of namesRead(node)) read.add(name);
    live.push({ ...node, output });
  }
  return live.reverse();
}

/** Returns the names that the node and its nested graphs read from their surroundings. */
function namesRead({ input, attribute }: OnnxNode): readonly string[] {
  const nested = attribute.flatMap(({ g }) =>
    g ? [...g.node.flatMap(namesRead), ...g.output.map(({ name = '' }) => name)] : [],
  );
  return [...input, ...nested];
}

/**
 * Removes each `Identity` that only names a result, if the node that computes it can have that name: onnxruntime
 * 1.30 confuses the two names when it fuses a transpose into the product that reads the value.
 */
export function namedResults(nodes: readonly OnnxNode[], results: readonly string[]): OnnxNode[] {
  const computed = new Set(nodes.flatMap(({ output }) => output));
  const isResult = new Set(results);
  const names = new Map<string, string>();
  const kept = nodes.filter(({ opType, input: [from = ''], output: [to = ''] }) => {
    const isName = opType === 'Identity' && isResult.has(to);
    if (!isName || !computed.has(from) || isResult.has(from) || names.has(from)) return true;
    names.set(from, to);
    return false;
  });
  return kept.map((node) => renamed(node, names));
}

function renamed(node: OnnxNode, names: ReadonlyMap<string, string>): OnnxNode {
  const name = (original: string) => names.get(original) ?? original;
  return {
    ...node,
    input: node.input.map(name),
    output: node.output.map(name),
    attribute: node.attribute.map((attribute) => {
      const { g } = attribute;
      if (!g) return attribute;
      const output = g.output.map((each) => ({ ...each, name: name(each.name ?? '') }));
      return {
        ...attribute,
        g: { ...g, node: g.node.map((each) => renamed(each, names)), output },
      };
    }),
  };
}
