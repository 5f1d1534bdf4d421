import { expect, it } from 'vitest';
import { nn, ones, optim } from '../../src/index.ts';

it('an optimizer prints its groups', () => {
  using model = new nn.Sequential(new nn.Linear(2, 3), new nn.Linear(3, 1, { bias: false }));
  const [first, second] = [...model];
  const optimizer = new optim.SGD(
    [{ params: first!.parameters() }, { params: second!.parameters(), lr: 0.5 }],
    { lr: 0.1, momentum: 0.9 },
  );
  const rest = 'weightDecay=0, maximize=false, momentum=0.9, dampening=0, nesterov=false';
  expect(String(optimizer)).toBe(
    `SGD(\n  (0): 2 parameters, lr=0.1, ${rest}\n  (1): 1 parameter, lr=0.5, ${rest}\n)`,
  );
});

it('every optimizer prints its rate in place of its state', () => {
  const printed = Object.entries(optim).flatMap(([name, value]) => {
    if (!(value.prototype instanceof optim.Optimizer)) return [];
    const Optimizer = value as unknown as typeof optim.SGD;
    return [[name, String(new Optimizer([ones([2, 2], { requiresGrad: true })], { lr: 0.25 }))]];
  });
  expect(printed.length).toBeGreaterThan(10);
  for (const [name, text] of printed) {
    expect(text).toMatch(new RegExp(`^${name}\\(\n  \\(0\\): 1 parameter, lr=0.25, [^\n]*\n\\)$`));
    expect(text).not.toContain('[object');
  }
});
