import type { OnnxNode } from '../../../runtime/onnx/format/proto.ts';

/** The nodes that results depend on, in their order; outputs that nothing reads have no name. */
export function liveNodes(nodes: readonly OnnxNode[], results: readonly string[]): OnnxNode[] {
  const read = new Set(results);
  const live: OnnxNode[] = [];
  for (const node of nodes.toReversed()) {
    if (!node.output.some((name) => read.has(name))) continue;
    const { opType } = node;
    // Branches and loops return as many values as their graphs.
    const keepsAll = opType === 'If' || opType === 'Loop';
    const output = keepsAll ? node.output : node.output.map((name) => (read.has(name) ? name : ''));
    while (output.at(-1) === '') output.pop();
    for (const name of namesRead(node)) read.add(name);
    live.push({ ...node, output });
  }
  return live.reverse();
}

/** Names that the node reads, and its graphs of the values around them. */
function namesRead({ input, attribute }: OnnxNode): readonly string[] {
  const nested = attribute.flatMap(({ g }) =>
    g ? [...g.node.flatMap(namesRead), ...g.output.map(({ name = '' }) => name)] : [],
  );
  return [...input, ...nested];
}
