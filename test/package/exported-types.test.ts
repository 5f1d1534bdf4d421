import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unexported } from './declared-types.ts';
import { installed } from './installed.ts';

const entries = [
  'runtime/index.d.ts',
  'runtime/data/mnist.d.ts',
  'src/page.d.ts',
  'src/plugin/index.d.ts',
];

/** Members that are public for the library's own folders: users have no values of these types. */
const engine = [
  ...['Allocator', 'Attrs', 'GradEdge', 'HandleList', 'Holder', 'HookEntry', 'Launch', 'Operand'],
  ...['KernelOp', 'ScalarTable', 'TracedValue', 'ViewFamily', 'Pair', 'MomentumGroup'],
];

/** Data of the compiler, which users print and pass on. */
const compiler = [
  ...['CompiledPart', 'TraceResult', 'ProgramOp', 'Program', 'SubgraphStages'],
  ...['PlannedCall', 'PlannedSubgraph'],
];

it('every type that a public declaration mentions is exported', async () => {
  const { project } = await installed();
  const dist = join(project, 'node_modules/tostatic/dist');
  expect(unexported(dist, entries, new Set([...engine, ...compiler]))).toEqual([]);
}, 240_000);
