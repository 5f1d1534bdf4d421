import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import * as nn from '../../runtime/nn/index.ts';
import '../ops/eager.ts';

it('a module prints what is in it', () => {
  using model = new nn.Sequential(
    new nn.Conv2d(1, 4, [3, 5], { padding: 1, bias: false }),
    new nn.Sequential(new nn.ReLU(), new nn.Dropout(0.25)),
    new nn.LayerNorm([2, 3]),
  );
  expect(String(model)).toBe(
    [
      'Sequential(',
      '  (0): Conv2d(weight: f32[4,1,3,5], padding=1, paddingMode=zeros)',
      '  (1): Sequential(',
      '    (0): ReLU()',
      '    (1): Dropout(p=0.25)',
      '  )',
      '  (2): LayerNorm(shape=[2,3], eps=0.00001, weight: f32[2,3], bias: f32[2,3])',
      ')',
    ].join('\n'),
  );
  expect(inspect(model)).toBe(String(model));
  const loop = new nn.ModuleList<nn.Module>();
  loop.push(loop);
  expect(String(loop)).toBe('ModuleList(\n  (0): ModuleList(…)\n)');
});

it('a module prints its settings, not what follows from them', () => {
  expect(String(new nn.BatchNorm1d(3))).toMatch(/numBatchesTracked: i32\[\]\)$/);
  expect(String(new nn.GRUCell(2, 3))).toMatch(/biasHh: f32\[9\]\)$/);
});
