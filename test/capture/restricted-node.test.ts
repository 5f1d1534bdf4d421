/** Hardened and sandboxed processes switch off parts of the engine. */

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { withSources } from '../source-process.ts';

const code = `
import { ones, optim, tensor, toStatic } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)};
const w = tensor([1, 2], { requiresGrad: true });
const optimizer = new optim.SGD([w], { lr: 0.5 });
const step = toStatic((x) => {
  const loss = x.matmul(w).sum();
  loss.backward();
  optimizer.step();
  optimizer.zeroGrad();
  const object = { n: 1 };
  object.__proto__ = null;
  return [loss, Object.keys(object)];
});
step(ones([3, 2]));
const [loss, keys] = step(ones([3, 2]));
const large = ones([2 ** 21]).mul(2).sum();
console.log(JSON.stringify([loss.itemSync(), keys, large.itemSync(), step.stats().graphs]));`;

it('without WebAssembly, code generation by the engine, and __proto__, a step is one graph', () => {
  const flags = ['--jitless', '--disable-proto=delete', '--disallow-code-generation-from-strings'];
  const args = [...flags, ...withSources, '--input-type=module', '--eval', code];
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' });
  expect(JSON.parse(printed)).toEqual([0, ['n', '__proto__'], 2 ** 22, 1]);
});
