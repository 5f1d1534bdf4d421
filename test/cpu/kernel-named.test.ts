/** The kernels that tests call by name are those of the ops, not others that they replace. */

import { expect, it } from 'vitest';
import { opNamed, opTable } from '../../runtime/ops/op-table.ts';
import { kernelNamed } from './kernel-named.ts';

it('names the kernels of the ops', () => {
  expect(opTable.size).toBeGreaterThan(200);
  const others = [...opTable.keys()].filter((name) => {
    const { kernel } = opNamed(name);
    return kernel.kind === 'named' && kernelNamed[kernel.name] !== kernel.onCpu;
  });
  expect(others).toEqual([]);
});
