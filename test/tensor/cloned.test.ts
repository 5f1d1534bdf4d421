/** `structuredClone()`, as `postMessage()` uses it, would keep the fields of a tensor and lose its elements. */

import { expect, it } from 'vitest';
import { data, init, nn, ones, optim, toStatic } from '../../src/index.ts';

const x = ones([2, 2]);
const layer = new nn.Linear(2, 2);
const values: Readonly<Record<string, () => unknown>> = {
  'a tensor': () => x,
  'a tensor of meta': () => ones([2], { device: 'meta' }),
  'a tensor in an object': () => ({ batch: [x] }),
  'a module': () => layer,
  'a state dict': () => layer.stateDict(),
  'an optimizer': () => new optim.Adam(layer.parameters(), { lr: 0.1 }),
  'a data set': () => new data.TensorDataset(x),
};

it.each(Object.entries(values))('%s is not cloned, eagerly or captured', (_name, make) => {
  const clone = () => structuredClone(make());
  for (const run of [clone, toStatic(clone)]) {
    expect(run).toThrow(/a tensor \(send await x\.data\(\) and x\.shape instead\)/);
  }
});

it('nor is a tensor that is kept outside of memory', async () => {
  const host = await init('host');
  using kept = await x.toAsync(host);
  expect(() => structuredClone(kept)).toThrow(/a tensor \(send/);
});
